"""The report in a real browser: nothing goes wrong, everything is seen, at a desk and on a phone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import CHROMIUM, DRIVER, Browser, browser
from readings import failure, fill, result
from tinysuite import tiny

from tent.bench.read.query import read_grids
from tent.bench.render.report import render_report
from tent.bench.store import Store
from tent.bench.suites import SUITES

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no chromium with its chromedriver here (Debian: apt-get install chromium-driver)"
)
SMALL, PHONE, DESK = 360, 390, 1280
VISIBLE = """
return [...document.querySelectorAll('figure')].map(figure => [...figure.querySelectorAll('svg')]
  .map(svg => svg.getBoundingClientRect()).filter(box => box.width > 0 && box.height > 0)
  .map(box => [box.width, box.height, box.left, box.right]));
"""
WIDE = "return [document.documentElement.scrollWidth, document.documentElement.clientWidth];"
BOXES = """
return [...document.querySelectorAll('.box')].map(box => {
  const outer = box.getBoundingClientRect();
  return [outer.left, outer.right, box.scrollWidth > box.clientWidth, getComputedStyle(box).overflowX];
});
"""
CUT = """
const wide = document.documentElement.clientWidth;
return [...document.querySelectorAll('h1, h2, h3, p, dt, dd, li, figcaption, caption')]
  .filter(part => part.getClientRects().length).map(part => [part.getBoundingClientRect(), part.textContent])
  .filter(([box]) => box.left < 0 || box.right > wide + 0.5).map(([, text]) => text);
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    store = Store(folder / "results")
    for name in ("cifar10-c", "digits", "ablation"):
        fill(store, SUITES[name], (0,), lambda row, column, case: (0.1 + 0.002 * len(row + column), 2.0 * case.epochs))
    suite = tiny(("a-name-without-any-space-in-it-" * 4, "b"), title="A title of " + "very-" * 30 + "long words")
    first, *others = suite.cells((0,), None)
    store.put(failure(first.case, "ValueError: " + "unbroken" * 60))
    for cell in others:
        store.put(result(cell.case, 0.5))
    path = folder / "report.html"
    path.write_text(render_report(read_grids([*SUITES.values(), suite], store.all()), ["x" * 500]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [SMALL, PHONE, DESK])
def test_the_page_is_whole_at_every_width(window: Browser, page: Path, width: int, dark: bool) -> None:
    window.open(page, width, dark)
    window.run("document.querySelectorAll('details').forEach(part => part.open = true);")
    scrolled, there = window.run(WIDE)
    assert there == width
    assert scrolled <= there
    figures = window.run(VISIBLE)
    assert len(figures) == 7
    for shown in figures:
        assert len(shown) == 1  # of the two forms, the one for this width
        ((wide, high, left, right),) = shown
        assert wide > 250
        assert high > 100
        assert left >= 0
        assert right <= width
    for left, right, _, scrolls in window.run(BOXES):
        assert left >= 0
        assert right <= width
        assert scrolls == "auto"
    assert window.run(CUT) == []
    assert window.log() == []


def test_wide_tables_scroll_in_their_own_box_on_a_phone(window: Browser, page: Path) -> None:
    window.open(page, PHONE)
    assert any(scrolls for _, _, scrolls, _ in window.run(BOXES))


def test_the_widest_table_of_the_paper_is_whole_at_a_desk(window: Browser, page: Path) -> None:
    window.open(page, DESK)
    ask = "const box = document.querySelector('#cifar10-c .box'); return [box.scrollWidth, box.clientWidth];"
    needed, there = window.run(ask)
    assert needed <= there


def test_the_first_column_stays_while_a_table_scrolls(window: Browser, page: Path) -> None:
    window.open(page, PHONE)
    ask = """
    const box = document.querySelector('#cifar10-c .box'), head = box.querySelector('tbody th');
    const last = box.querySelector('tbody td:last-child'), edge = () => box.getBoundingClientRect();
    const hidden = last.getBoundingClientRect().left > edge().right;
    box.scrollLeft = box.scrollWidth;
    return [hidden, head.getBoundingClientRect().left - edge().left, edge().right - last.getBoundingClientRect().right];
    """
    hidden, left, right = window.run(ask)
    assert hidden
    assert abs(left) <= 2
    assert -1 <= right <= 2


def test_the_protocol_is_behind_a_click(window: Browser, page: Path) -> None:
    window.open(page, DESK)
    ask = """
    const part = document.querySelector('#cifar10-c details'), facts = part.querySelector('dl');
    const before = facts.checkVisibility();
    part.querySelector('summary').click();
    return [before, facts.checkVisibility(), facts.textContent.includes('before the stream, never in it')];
    """
    assert window.run(ask) == [False, True, True]


def test_ink_and_ground_follow_the_readers_choice(window: Browser, page: Path) -> None:
    ask = """
    const body = getComputedStyle(document.body), svg = document.querySelector('figure svg path[style*=currentColor]');
    return [body.color, body.backgroundColor, svg ? getComputedStyle(svg).stroke : ''];
    """
    seen = []
    for dark in (False, True):
        window.open(page, DESK, dark)
        seen.append(window.run(ask))
    (light_ink, light_ground, light_line), (dark_ink, dark_ground, dark_line) = seen
    assert light_ink != dark_ink
    assert light_ground != dark_ground
    assert (light_line, dark_line) == (light_ink, dark_ink)


def test_text_can_be_read_on_its_ground(window: Browser, page: Path) -> None:
    ask = """
    const light = c => { const v = c.match(/[0-9.]+/g).slice(0, 3).map(x => x / 255)
      .map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
      return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
    const ground = part => { for (; part; part = part.parentElement) {
      const c = getComputedStyle(part).backgroundColor; if (!/, 0\\)$/.test(c)) return c; } };
    return [...document.querySelectorAll('p, td, th, caption, dt, dd, a, figcaption, li, span, strong')].map(part => {
      const [a, b] = [light(getComputedStyle(part).color), light(ground(part))].sort((x, y) => y - x);
      return (a + 0.05) / (b + 0.05); }).reduce((least, ratio) => Math.min(least, ratio), 99);
    """
    for dark in (False, True):
        window.open(page, DESK, dark)
        assert window.run(ask) >= 4.5, dark  # WCAG's AA


def test_links_of_the_contents_lead_to_their_tables(window: Browser, page: Path) -> None:
    window.open(page, DESK)
    there = window.run(
        "return [...document.querySelectorAll('nav a')].map(link => document.querySelector(link.hash)?.tagName);"
    )
    assert there == ["SECTION"] * 4
