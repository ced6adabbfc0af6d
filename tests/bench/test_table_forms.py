"""The forms of a table: the same numbers in each, and names that keep their characters."""

import csv
import io
import re
from pathlib import Path

import pytest
from readings import failure, results_of
from tinysuite import ERRORS, stored, tiny

from tent.bench.read.grid import Grid
from tent.bench.read.query import read_grid
from tent.bench.render.latex import to_latex
from tent.bench.render.markdown import to_markdown
from tent.bench.render.report import render_report
from tent.bench.render.spreadsheet import columns, to_csv
from tent.bench.render.table import build_table
from tent.bench.suite import Suite
from tent.bench.suites import SUITES

ROWS, COLUMNS = ("a|b & 50%", "c*d_e [x](y) <i>"), ("one_1 #2", "$two^~\\{}")


def awkward(folder: Path) -> Grid:
    suite = tiny(ROWS, COLUMNS, "50% of_all | <b> & more")
    store = stored(folder, suite, keep=lambda cell: (cell.row, cell.column) != (ROWS[1], COLUMNS[1]))
    for cell in suite.cells((0, 1, 2), None):
        if (cell.row, cell.column) == (ROWS[1], COLUMNS[1]):
            store.put(failure(cell.case, "KeyError: 'a_b|c' & 100%"))
    return read_grid(suite, store.all())


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_markdown_keeps_its_columns_and_shows_every_character(tmp_path: Path) -> None:
    text = to_markdown(build_table(awkward(tmp_path)))
    lines = [cells_of(line) for line in text.splitlines() if line.startswith("|")]
    assert {len(line) for line in lines} == {4}  # head, two columns and their mean
    assert lines[0] == ["error (%)", r"one 1 \#2", r"$two^\~\\{}", "mean"]
    assert lines[1] == ["---", "---:", "---:", "---:"]
    assert lines[2] == [r"a\|b &amp; 50%", "12.00 ± 2.00", "20.00 ± 0.00", "16.00 ± 1.00"]
    assert lines[3][0] == r"c\*d e \[x\](y) &lt;i&gt;"
    assert lines[3][1:] == ["**11.00 ± 0.00**", "*failed* <sup>1</sup>", "*missing* <sup>2</sup>"]
    assert r"<sup>1</sup> failed, seeds 0, 1, 2: KeyError: 'a\_b\|c' &amp; 100%" in text
    assert text.startswith("### 50% of\\_all \\| &lt;b&gt; &amp; more\n\n|")
    assert "Mean ± standard deviation (n − 1), n = 3 orders of the stream (seeds 0, 1, 2)" in text
    assert "Protocol" not in text
    full = to_markdown(build_table(awkward(tmp_path)), full=True)
    assert full.startswith(text)
    assert "\n- Protocol of all results: " in full


def test_latex_sets_every_character(tmp_path: Path) -> None:
    text = to_latex(build_table(awkward(tmp_path)))
    lines = text.splitlines()
    body = lines[lines.index("\\midrule") + 1 : lines.index("\\bottomrule")]
    assert body == [
        r"a\textbar{}b \& 50\% & 12.00 $\pm$ 2.00 & 20.00 $\pm$ 0.00 & 16.00 $\pm$ 1.00 \\",
        r"c*d e [x](y) \textless{}i\textgreater{} & \textbf{11.00} $\pm$ 0.00 & \emph{failed}\textsuperscript{1}"
        r" & \emph{missing}\textsuperscript{2} \\",
    ]
    assert r"error (\%) & one 1 \#2 & \$two\textasciicircum{}\textasciitilde{}\textbackslash{}\{\} & mean \\" in lines
    assert r"\begin{tabular}{lrrr}" in lines
    assert re.search(r"\\caption\{50\\% of\\_all .*n = 3 orders of the stream \(seeds 0, 1, 2\); one training", text)
    assert "Protocol of all results:" in to_latex(build_table(awkward(tmp_path)), full=True)
    assert text.count("{") - text.count("\\{") == text.count("}") - text.count("\\}")
    assert not re.search(r"(?<!\\)[%#]", text.replace("% needs \\usepackage{booktabs}", ""))
    for part in ("table", "tabular"):
        assert text.count(f"\\begin{{{part}}}") == text.count(f"\\end{{{part}}}") == 1


def test_csv_has_a_line_a_case_with_the_stores_own_numbers(tmp_path: Path) -> None:
    grid = awkward(tmp_path)
    text = to_csv(grid)
    assert text.splitlines()[0] == ",".join(columns(grid))
    lines = list(csv.DictReader(io.StringIO(text)))
    assert len(lines) == 12
    done = [line for line in lines if line["state"] == "done"]
    assert [float(line["error"]) for line in done if line["row"] == ROWS[0] and line["column"] == COLUMNS[0]] == [
        *ERRORS["first", "one"]
    ]
    assert {line["images"] for line in done} == {"1000"}
    assert {float(line["seconds"]) for line in done} == {2.0}
    assert {(line["row"], line["forward"], line["backward"]) for line in done} == {
        (ROWS[0], "1000", "0"),  # BN
        (ROWS[1], "1000", "1000"),  # Tent
    }
    assert {line["training_seconds"] for line in done} == {""}
    first = grid.entries[ROWS[0], COLUMNS[0]].successes[0]
    assert done[0]["key"] == first.case.key()
    assert [float(done[0][name]) for name in ("cross_entropy", "entropy", "ece")] == [0.2, 0.05, 0.025]
    failed = [line for line in lines if line["state"] == "failed"]
    assert [line["seed"] for line in failed] == ["0", "1", "2"]
    assert {line["failure"] for line in failed} == {"KeyError: 'a_b|c' & 100%"}
    assert {line["error"] for line in failed} == {""}


def test_csv_names_what_is_missing(tmp_path: Path) -> None:
    grid = read_grid(tiny(), stored(tmp_path, keep=lambda cell: cell.case.seed == 0 or cell.row == "first").all())
    lines = [line for line in csv.DictReader(io.StringIO(to_csv(grid))) if line["state"] == "missing"]
    assert [(line["row"], line["column"], line["seed"], line["key"], line["error"]) for line in lines] == [
        ("second", "one", "1", "", ""),
        ("second", "one", "2", "", ""),
        ("second", "two", "1", "", ""),
        ("second", "two", "2", "", ""),
    ]


def test_html_escapes_everything(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    text = render_report([awkward(tmp_path)])
    assert "<i>" not in text
    assert "<b>" not in text
    assert '<th scope="row">c*d e [x](y) &lt;i&gt;</th>' in text
    assert '<th scope="col">$two^~\\{}</th>' in text
    assert "<strong>11.00</strong>" in text
    assert '<td class="failed">failed<sup>1</sup></td>' in text
    assert "<li>failed, seeds 0, 1, 2: KeyError: &#39;a_b|c&#39; &amp; 100%</li>" in text


def test_the_caption_is_a_few_lines_and_the_details_have_the_protocol(tmp_path: Path) -> None:
    made = build_table(read_grid(tiny(), stored(tmp_path).all()))
    assert made.caption[1:] == (
        "Model: net-0, net-1. Data: set-0, set-1, 1,000 images a column, batches of 128.",
        "Updates: first: none; second: Adam 0.001.",
    )
    common, *others = made.details
    assert "reset: before the stream, never in it" in common
    assert "order: shuffled by its seed" in common
    assert "optimizer" not in common  # BN has none
    assert any(line.startswith("second: ") and "optimizer: Adam" in line for line in others)
    assert made.provenance.by_row["second"]["optimizer"] == "Adam"


@pytest.mark.parametrize("suite", SUITES.values(), ids=list(SUITES))
def test_every_caption_of_a_suite_is_short(suite: Suite) -> None:
    made = build_table(read_grid(suite, results_of(suite, (0, 1), lambda row, column, case: (0.25, 1.0))))
    assert len(made.caption) == 3
    assert max(len(line) for line in made.caption) < 400
