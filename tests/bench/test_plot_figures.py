"""Figures: they show the table's numbers, and nothing in them hides anything else."""

import colorsys
import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from readings import failure, fill, kept, result
from tinysuite import stored, tiny

from tent.bench.case import Case
from tent.bench.read.grid import Grid
from tent.bench.read.narrow import narrow_grid
from tent.bench.read.query import read_grid
from tent.bench.render.figures.bars import draw_bars
from tent.bench.render.figures.margin import spread_out
from tent.bench.render.figures.multiples import draw_multiples
from tent.bench.render.figures.panels import draw_panels, rows_by_choice
from tent.bench.render.figures.placement import Box, crosses, place_names
from tent.bench.render.figures.plot import list_pictures, plot
from tent.bench.render.figures.severity_lines import draw_severities
from tent.bench.render.figures.style import KNOWN, OTHERS, find_looks
from tent.bench.render.figures.tradeoff import draw_tradeoff
from tent.bench.store import Store
from tent.bench.suites import SUITES

pytest.importorskip("matplotlib")
WIDTHS = (9.5, 3.4)
STARTS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
KINDS = {
    "cifar10-c": ["columns", "compute"],
    "digits": ["columns", "compute"],
    "ablation": ["panels"],
    "cifar10-c-severities": ["severities"],
    "cifar10-c-choice": ["columns", "compute"],
    "generalise": ["columns", "compute"],
    "imagenet-c": ["columns", "compute"],
    "imagenet-val5k-c-by-type": ["columns", "compute"],
    "visda-c": ["columns", "compute"],
}


def number(row: str, column: str, case: Case) -> tuple[float, float]:
    """Return an error and seconds that differ from case to case, some of them hardly."""
    error = 0.1 + 0.001 * (sum(map(ord, row + column)) % 7) + 0.002 * case.seed + 0.5 * (case.method == "source")
    seconds = {"source": 1.0, "bn": 1.01, "pl": 3.0, "tent": 3.01, "ttt": 4.0, "oracle": 3.02}[case.method]
    return error, seconds * case.steps * case.epochs


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Grid]:
    found = {}
    for name in KINDS:
        store = Store(tmp_path_factory.mktemp(name))
        fill(store, SUITES[name], (0,) if name == "ablation" else (0, 1), number)
        found[name] = read_grid(SUITES[name], store.all())
    return found


@pytest.fixture
def done() -> Iterator[None]:
    """Let go of every figure."""
    yield
    import matplotlib.pyplot

    matplotlib.pyplot.close("all")


def written(figure: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Return every text that is drawn, with its box."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    canvas, texts, draw = FigureCanvasAgg(figure), [], Text.draw

    def noted(self: Text, renderer: Any, *others: Any, **more: Any) -> Any:
        if self.get_visible() and self.get_text().strip():
            texts.append((self.get_text(), Text.get_window_extent(self, renderer)))
        return draw(self, renderer, *others, **more)

    with monkeypatch.context() as patched:
        patched.setattr(Text, "draw", noted)
        canvas.draw()
    return texts


@pytest.mark.usefixtures("done")
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", KINDS)
def test_no_text_touches_another_or_leaves_the_figure(
    filled: dict[str, Grid], name: str, width: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = filled[name]
    assert [picture.name for picture in list_pictures(grid)] == KINDS[name]
    for picture in list_pictures(grid):
        figure = picture.draw(grid, width, grid.heading)
        texts = written(figure, monkeypatch)
        assert len(texts) > 8
        for (one, first), (two, second) in itertools.combinations(texts, 2):
            over = (
                min(first.x1, second.x1) - max(first.x0, second.x0),
                min(first.y1, second.y1) - max(first.y0, second.y0),
            )
            assert min(over) <= 1, (picture.name, one, two, over)  # a pixel of the boxes' own margins
        for text, box in texts:
            inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1
            assert inside, (picture.name, text, box)


@pytest.mark.usefixtures("done")
def test_bars_are_as_high_as_the_errors_and_their_spreads(tmp_path: Path) -> None:
    from matplotlib.container import ErrorbarContainer

    figure = draw_bars(read_grid(tiny(), stored(tmp_path).all()), 9.5)
    (axis,) = figure.axes
    heights = sorted(round(patch.get_height(), 6) for patch in axis.patches)
    assert heights == [11.0, 12.0, 16.0, 20.0, 22.0, 33.0]
    spreads = []
    for container in axis.containers:
        if isinstance(container, ErrorbarContainer):
            ((low, high),) = (segment[:, 1] for segment in container.lines[2][0].get_segments())
            spreads.append(round((high - low) / 2, 6))
    assert sorted(spreads) == [1.0, 1.5, 2.0, 3.0]  # and none of no spread
    assert [label.get_text() for label in axis.get_xticklabels()] == ["one", "two", "mean"]


@pytest.mark.usefixtures("done")
def test_bars_wrap_into_panels_that_share_a_scale_and_name_every_column(filled: dict[str, Grid]) -> None:
    grid = filled["cifar10-c"]
    for width, count in zip(WIDTHS, (4, 17), strict=True):
        figure = draw_bars(grid, width)
        assert len(figure.axes) == count
        assert len({axis.get_ylim() for axis in figure.axes}) == 1
        named = [label.get_text().split() for axis in figure.axes for label in axis.get_xticklabels()]
        assert named == [name.replace("_", " ").split() for name in (*grid.columns, "mean", "mean of 4 types")]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == [*grid.rows, "the paper"]
    marks = {round(line.get_ydata()[0], 1) for axis in figure.axes for line in axis.lines if line.get_marker() == "D"}
    assert marks == {40.8, 18.3, 16.7, 17.5, 17.3, 15.7, 14.3}


@pytest.mark.usefixtures("done")
def test_many_rows_are_small_multiples_on_one_scale_and_few_are_bars(
    filled: dict[str, Grid], monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = filled["cifar10-c"]
    picture = list_pictures(grid)[0]
    assert picture.draw is draw_multiples
    assert list_pictures(narrow_grid(grid, ["Source,BN,Tent"]))[0].draw is draw_bars
    figure = picture.draw(grid, 9.5, "")
    titles = [axis.get_title(loc="left") for axis in figure.axes]
    assert titles == [name.replace("_", " ") for name in (*grid.columns, "mean", "mean of 4 types")]
    assert len({axis.get_xlim() for axis in figure.axes}) == 1
    fog = figure.axes[grid.columns.index("fog")]
    shown = [round(patch.get_width(), 6) for patch in fog.patches]
    assert shown == [round(grid.display_value(row, "fog")[0], 6) for row in grid.rows]
    marks = {round(line.get_xdata()[0], 1) for axis in figure.axes for line in axis.lines if line.get_marker() == "D"}
    assert marks == {40.8, 18.3, 16.7, 17.5, 17.3, 15.7, 14.3}
    texts = Counter(text for text, _ in written(figure, monkeypatch))
    assert all(texts[row] == 3 for row in grid.rows)  # once for each line of panels


@pytest.mark.usefixtures("done")
@pytest.mark.parametrize("draw", [draw_bars, draw_multiples])
def test_what_is_missing_or_failed_is_named_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, draw: Any
) -> None:
    suite = tiny()
    store = stored(tmp_path, keep=lambda cell: cell.row == "first")
    for cell in suite.cells((0,), None):
        if cell.row == "second" and cell.column == "one":
            store.put(failure(cell.case, "no"))
    grid = read_grid(suite, store.all())
    said = [text.strip() for text, _ in written(draw(grid), monkeypatch)]
    assert said.count("failed") == 1
    assert said.count("missing") == 2  # the other column, and the mean
    assert "second" not in [text for text, _ in written(draw_tradeoff(grid), monkeypatch)]


@pytest.mark.usefixtures("done")
@pytest.mark.parametrize("width", WIDTHS)
def test_a_column_in_which_all_failed_is_a_panel_that_says_so(
    tmp_path: Path, width: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, suite = Store(tmp_path), SUITES["digits"]
    for cell in suite.cells((0,), None):
        bad = cell.column == "USPS"
        store.put(failure(cell.case, "no") if bad else result(cell.case, *number(cell.row, cell.column, cell.case)))
    said = Counter(text for text, _ in written(draw_tradeoff(read_grid(suite, store.all()), width), monkeypatch))
    assert said["missing or failed"] == 1
    assert said["Tent offline 10 epochs"] == 3  # in full, and once a panel that has it
    assert not any("$" in text for text in said)


@pytest.mark.usefixtures("done")
def test_few_bars_are_not_drawn_out_over_the_page(filled: dict[str, Grid]) -> None:
    assert draw_bars(filled["visda-c"]).get_size_inches()[0] == pytest.approx(5.5)
    assert draw_bars(filled["visda-c"], 3.4).get_size_inches()[0] == pytest.approx(3.4)
    assert draw_bars(filled["cifar10-c"]).get_size_inches()[0] == pytest.approx(9.5)


@pytest.mark.usefixtures("done")
def test_compute_is_on_a_logarithmic_axis_with_readable_marks(filled: dict[str, Grid]) -> None:
    for name, panels_there in (("cifar10-c", 2), ("digits", 4), ("imagenet-c", 1)):
        figure = draw_tradeoff(filled[name])
        assert len(figure.axes) == panels_there
        for axis in figure.axes:
            assert axis.get_xscale() == "log"
            labels = [label.get_text() for label in axis.get_xticklabels()]
            assert len(labels) > 2
            assert all(float(label) > 0 for label in labels)


@pytest.mark.usefixtures("done")
def test_the_ablation_has_a_panel_a_choice(filled: dict[str, Grid]) -> None:
    grid = filled["ablation"]
    moved = rows_by_choice(grid)
    assert set(moved) == {"", "lr", "batch_size", "steps", "answers"}
    assert "last layer only" in moved[""]
    assert [len(moved[name]) for name in ("lr", "batch_size", "steps", "answers")] == [4, 4, 4, 1]  # without Tent's own
    figure = draw_panels(grid)
    titles = [axis.get_title(loc="left") for axis in figure.axes]
    assert titles == [
        "what moves",
        "answers before or after the update",
        "learning rate",
        "images a batch",
        "steps a batch",
    ]
    labels = [label.get_text() for label in figure.axes[3].get_xticklabels()]
    assert labels == ["1", "8", "32", "128", "500"]


@pytest.mark.usefixtures("done")
def test_severities_are_a_line_a_method(filled: dict[str, Grid]) -> None:
    figure = draw_severities(filled["cifar10-c-severities"])
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 5 and line.get_linestyle() == "-"]
    assert len(lines) == 5
    assert all(list(line.get_xdata()) == [1, 2, 3, 4, 5] for line in lines)


def test_rows_are_told_apart_without_colour() -> None:
    every = [*KNOWN.values(), *OTHERS]
    assert len({look.mark for look in every}) == len(every)
    for one, two in itertools.combinations(every, 2):
        assert one.hatch != two.hatch or abs(lightness(one.colour) - lightness(two.colour)) > 0.1, (one, two)
    names = ["Source", "something", "Tent", "else"]
    assert find_looks(names)["Tent"] == KNOWN["Tent"]
    assert find_looks(names)["something"] != find_looks(names)["else"]


def lightness(colour: str) -> float:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return float(colorsys.rgb_to_yiq(red, green, blue)[0])


@given(st.lists(st.floats(0, 3), max_size=12), st.floats(0.05, 0.2))
def test_names_in_the_margin_are_a_gap_apart_in_order_and_inside(places: list[float], gap: float) -> None:
    moved = spread_out(sorted(places), gap, 3.0)
    assert len(moved) == len(places)
    assert all(after - before >= gap - 1e-9 for before, after in itertools.pairwise(moved))
    assert all(-1e-9 <= place <= 3.0 + 1e-9 for place in moved)


@given(st.lists(st.tuples(st.floats(0.3, 3.7), st.floats(0.2, 2.4)), min_size=1, max_size=11))
def test_names_beside_points_touch_nothing_and_their_lines_do_not_cross(points: list[tuple[float, float]]) -> None:
    room = Box(0.0, 0.0, 4.0, 2.6)
    places = place_names(points, [0.7] * len(points), room)
    for place, point in zip(places, points, strict=True):
        assert place.line[0] == point
        assert place.box.left >= -1e-9
        assert place.box.low >= -1e-9
        assert place.box.right <= 4.0 + 1e-9
        assert place.box.high <= 2.6 + 1e-9
        assert not any(place.box.left < x < place.box.right and place.box.low < y < place.box.high for x, y in points)
    for one, two in itertools.combinations(places, 2):
        assert not one.box.overlaps(two.box)
        assert not crosses(one.line, two.line)


def test_a_name_that_has_room_stands_right_of_its_point() -> None:
    (place,) = place_names([(1.0, 1.0)], [0.5], Box(0.0, 0.0, 4.0, 2.0))
    assert place.box.left == pytest.approx(1.1)
    assert (place.box.low + place.box.high) / 2 == pytest.approx(1.0)


def test_names_that_do_not_touch_stay_where_they_are() -> None:
    assert spread_out([0.0, 0.5, 1.0], 0.2, 1.0) == pytest.approx([0.0, 0.5, 1.0])
    assert spread_out([0.5, 0.5], 0.2, 1.0) == pytest.approx([0.4, 0.6])


def test_plot_writes_png_svg_and_pdf_and_the_same_bits_again(tmp_path: Path, filled: dict[str, Grid]) -> None:
    for name in ("digits", "ablation"):
        files = plot(filled[name], tmp_path / "one")
        assert [path.name for path in files] == [f"{name}-{kind}{end}" for kind in KINDS[name] for end in STARTS]
    assert len(list((tmp_path / "one").iterdir())) == 9  # and nothing half-written
    again = plot(filled["digits"], tmp_path / "two")
    for path in again:
        content = path.read_bytes()
        assert content == (tmp_path / "one" / path.name).read_bytes()
        assert content.startswith(STARTS[path.suffix])
        assert b"/Type3" not in content  # outlines that journals refuse


def test_names_with_dollars_are_drawn_as_they_are(tmp_path: Path) -> None:
    suite = tiny(("$a^{$ & b", "c_d"), ("<one>", "two%"), "a $\\bad$ title")
    store = kept(tmp_path / "store", *(result(cell.case, 0.5) for cell in suite.cells((0,), None)))
    assert len(plot(read_grid(suite, store.all()), tmp_path)) == 6


def test_a_suite_of_failures_has_no_figure(tmp_path: Path) -> None:
    suite = tiny()
    store = kept(tmp_path / "store", *(failure(cell.case, "no") for cell in suite.cells((0,), None)))
    with pytest.raises(ValueError, match="every result of tiny failed; there is nothing to draw"):
        plot(read_grid(suite, store.all()), tmp_path)
