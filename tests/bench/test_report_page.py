"""The report as a file: whole in itself, well formed, and safe with any name."""

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from command import tent
from readings import DATA, failure, fill, result
from tinysuite import stored, tiny

from tent.bench.read.query import read_grid, read_grids
from tent.bench.render.report import render_report
from tent.bench.store import Store
from tent.bench.suites import SUITES
from tent.models import zoo

pytest.importorskip("matplotlib")
EVIL = "<script>alert('x')</script> & \"y\" | 50%"
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """What is in a page, and whether its tags fit into each other."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]


def number(row: str, column: str, case: object) -> tuple[float, float]:
    return 0.1 + 0.001 * len(row + column), 2.0


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    store = Store(tmp_path_factory.mktemp("store"))
    for name, seeds in (("digits", (0, 1)), ("ablation", (0,))):
        fill(store, SUITES[name], seeds, number)
    return render_report(read_grids(SUITES.values(), store.all()), ["one file is damaged & gone"])


def test_the_page_is_well_formed_and_has_every_part(text: str) -> None:
    page = Page(text)
    assert page.open == []
    assert len(page.all("section")) == 2
    assert len(page.all("figure")) == len(page.all("figcaption")) == 3
    assert [attributes["role"] for attributes in page.all("svg")] == ["img"] * 6  # each for a desk and for a phone
    assert all(attributes["aria-label"] for attributes in page.all("svg"))
    assert all(attributes["scope"] in ("row", "col") for attributes in page.all("th"))
    assert all(
        attributes["tabindex"] == "0" and attributes["aria-label"]
        for attributes in page.all("div")
        if "tabindex" in attributes
    )
    assert "one file is damaged & gone" in page.texts
    assert len(page.all("h1")) == 1


def test_ids_are_unique_and_every_link_inside_leads_somewhere(text: str) -> None:
    page = Page(text)
    ids = Counter(attributes["id"] for _, attributes in page.tags if "id" in attributes)
    assert set(ids.values()) == {1}
    links = [attributes[name] for _, attributes in page.tags for name in ("href", "xlink:href") if name in attributes]
    assert {link for link in links if not link.startswith("#")} == {"data:,"}
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
    assert set(re.findall(r"url\(#([^)]+)\)", text)) <= set(ids)
    assert [attributes["href"] for attributes in page.all("a")] == ["#digits", "#ablation"]


def test_the_page_asks_for_nothing(text: str) -> None:
    page = Page(text)
    assert not any(tag in ("script", "img", "iframe", "object", "embed") for tag, _ in page.tags)
    assert not any(name in attributes for _, attributes in page.tags for name in ("src", "srcset", "onload", "onclick"))
    assert not re.search(r"@import|url\((?!#)", text)
    addresses = set(re.findall(r"https?://[^\"'<> ]+", text))
    assert addresses <= {"http://www.w3.org/1999/xlink", "http://www.w3.org/2000/svg"}  # names, never asked for
    assert any("default-src 'none'" in attributes.get("content", "") for attributes in page.all("meta"))


def test_each_table_says_its_protocol_versions_hardware_and_commit(text: str) -> None:
    sections = text.split("<section")[1:]
    for section in sections:
        for said in ("Protocol", "Provenance", "c" * 40, "a processor, 2 threads", "2.15.0", "before the stream"):
            assert said in section, said
    assert "by seed 0" not in sections[0]  # two seeds: each by its own
    assert "by its seed" in sections[0]
    assert "Table 3" in sections[0]


def test_ink_and_ground_are_the_pages_own(text: str) -> None:
    figures = "".join(re.findall(r"<svg.*?</svg>", text, re.DOTALL))
    assert "currentColor" in figures
    assert "#1c1c1e" not in figures
    assert "prefers-color-scheme: dark" in text


def test_everything_is_escaped(tmp_path: Path) -> None:
    suite = tiny((EVIL, "b"), (EVIL[::-1], "d"), EVIL)
    cells = suite.cells((0,), None)
    store = Store(tmp_path)
    for cell in cells[:3]:
        changed = {"hardware": EVIL, "commit": EVIL, "versions": {EVIL: EVIL}, "protocol": {EVIL: EVIL + cell.row}}
        store.put(result(cell.case, 0.5, **changed))
    store.put(failure(cells[3].case, EVIL))
    text = render_report([read_grid(suite, store.all())], [EVIL])
    page = Page(text)
    assert page.open == []
    assert not page.all("script")
    assert "<script" not in text
    assert sum(EVIL in data for data in page.texts) >= 8


def test_the_same_store_gives_the_same_page(tmp_path: Path) -> None:
    results = stored(tmp_path).all()
    assert render_report([read_grid(tiny(), results)]) == render_report([read_grid(tiny(), results[::-1])])


def test_the_command_writes_one_page_and_runs_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SUITES, "tiny", tiny())
    monkeypatch.setattr(zoo, "load", None)
    store = stored(tmp_path / "results")
    (tmp_path / "results" / f"{'0' * 24}.json").write_text("{")
    ran = tent(tmp_path, "report")
    assert (ran.returncode, ran.stdout) == (0, "report.html: 1 table of tiny\n"), ran.stderr
    assert "is damaged" in ran.stderr
    assert "is damaged" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "results"]
    ran = tent(tmp_path, "report", "--out", "nowhere/page.html")
    assert (ran.returncode, ran.stderr) == (2, "tent: nowhere/page.html: its folder does not exist; create it first\n")
    for cell in tiny().cells((0,), None):
        store.put(result(cell.case.pin("b2" * 32, lambda _: DATA), 0.5))
    ran = tent(tmp_path, "report")
    assert ran.returncode == 2
    assert "2 different weights" in ran.stderr
    assert tent(tmp_path, "report", "--weights", "b2").returncode == 0


def test_results_of_no_suite_are_one_line(tmp_path: Path) -> None:
    stored(tmp_path / "results")  # the tiny suite is not among the suites
    ran = tent(tmp_path, "report")
    assert ran.returncode == 2
    assert ran.stderr == "tent: the 12 results in results are of no suite; run one, such as: tent bench digits\n"
