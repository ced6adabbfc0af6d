"""What README and docs say: their code runs, in the order it is said, and their links lead somewhere."""

import importlib
import re
import runpy
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import typer
from pages import ROOT, blocks, run_page
from toys import made

import tent
from tent.cli.app import app
from tent.train import Batch, Objective, Recipe

DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *DOCS]


def test_the_readme_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(blocks("README.md")) >= 5
    run_page("README.md")  # with no name but its own
    assert [path.name for path in tmp_path.iterdir()] == ["camera-3.safetensors"]
    found, promised = capsys.readouterr().out.splitlines()[0], re.findall(r"# ([\d.]+)%;", blocks("README.md")[0])[0]
    assert abs(float(found.removesuffix("% wrong")) - float(promised)) < 0.11  # threads round differently


@pytest.mark.parametrize("page", ["decide", "own-model", "streams", "choosing", "monitoring"])
def test_a_guide_runs_from_top_to_bottom(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    run_page(f"docs/{page}.md")


def test_the_page_on_state_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model, x = made("conv").eval(), torch.randn(6, 3, 12, 12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own, about its own insides
        run_page("docs/state.md", adapted=tent.adapt(model), x=x, x1=x, x2=x, torch=torch, tent=tent)
    assert {"camera-3.safetensors", "model.onnx"} <= {path.name for path in tmp_path.iterdir()}


def test_the_page_on_the_methods_runs_and_names_them_all() -> None:
    assert run_page("docs/methods.md")["adapted"].updates <= 1
    text = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    assert [kind.__name__ for kind in tent.METHODS.values() if f"`{kind.__name__}`" not in text] == []


def test_the_page_on_measuring_runs(capsys: pytest.CaptureFixture[str]) -> None:
    run_page("docs/evaluation.md")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("(")[0] for line in lines[:3]] == ["Source", "BN", "Tent"]
    assert "4 batches updated on, 0 skipped" in lines


def test_the_page_on_looking_inside_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page("docs/analysis.md")
    assert {path.name for path in tmp_path.iterdir()} == {
        f"calibration.{form}" for form in ("png", "svg", "csv", "json")
    }


def test_the_page_on_training_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[tuple[Recipe, Objective | None]] = []
    monkeypatch.setattr("tent.train.train", lambda recipe, out, objective=None: runs.append((recipe, objective)))
    names = run_page("docs/training.md")
    assert [recipe.data for recipe, _ in runs] == ["svhn", "svhn", "cifar10"]
    objective, model = runs[-1][1], names["model"]
    assert objective is not None
    batch = Batch(torch.randn(4, 3, 32, 32), torch.arange(4), 0.0, torch.Generator())
    loss, logits = objective(model, batch)
    assert loss.isfinite()
    assert logits.shape == (4, 10)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(#[^)\s]*)?\)", text):
        other = page.parent / target if target else page
        assert other.exists(), target
        if anchor:
            heads = re.findall(r"^#+ (.+)$", other.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor[1:] in [re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in heads]


def test_the_readme_leads_to_every_page() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in DOCS if f"(docs/{page.name})" not in text] == []


def commands() -> dict[str, set[str]]:
    """Return the options of every command, by its words."""
    found: dict[str, set[str]] = {}

    def walk(command: Any, words: str) -> None:
        found[words] = {"--help"} | {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
        for name, own in getattr(command, "commands", {}).items():
            walk(own, f"{words} {name}")

    walk(typer.main.get_command(app), "tent")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_and_option_exists(page: Path) -> None:
    known = commands()
    text = re.sub(r"\\\n", " ", page.read_text(encoding="utf-8"))
    fenced = [line for block in re.findall(r"```(?:sh)?\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    inline = [line.replace("\n", " ") for line in re.findall(r"`(tent [^`]+)`", text)]
    for line in (part.strip() for each in (*fenced, *inline) for part in re.split(r"[;#]", each)):
        words = line.split()
        if words[:1] == ["tent"]:
            name = next(name for n in (3, 2, 1) if (name := " ".join(words[:n])) in known)
            assert name != "tent" or len(words) == 1, line
            assert not [word for word in re.findall(r"(?<=[\s\[])--[a-z-]+", line) if word not in known[name]], line


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != "CHANGELOG"], ids=lambda page: page.stem)
def test_every_name_of_the_library_exists(page: Path) -> None:
    for name in re.findall(r"\btent(?:\.[A-Za-z_]\w*)+", page.read_text(encoding="utf-8")):
        assert exists(name), name


def exists(name: str) -> bool:
    """Tell whether a name leads somewhere from one of the modules it begins with; functions may hide modules."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:length]))
            for part in parts[length:]:
                found = getattr(found, part)
        except (ModuleNotFoundError, AttributeError):
            continue
        return True
    return False


def test_the_tables_on_the_page_are_those_of_the_store() -> None:
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    script = runpy.run_path(str(ROOT / "benchmarks" / "results_page.py"))
    tables = script["list_tables"]()
    assert [table.splitlines()[0] for table in tables if table not in page] == []
    assert len(tables) == 15
    changed = tables[0].replace("Source", "Sauce")
    other = script["replace_table"](page, changed)
    assert changed in other
    assert script["replace_table"](other, tables[0]) == page
    with pytest.raises(SystemExit, match="has 0 places for the table 'Nothing of the kind'"):
        script["replace_table"](page, "Nothing of the kind\n\n|\n\n.")
