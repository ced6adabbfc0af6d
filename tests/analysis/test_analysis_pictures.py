"""Pictures and files of figures' numbers."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from analysis_streams import draw_logits, grid, models, observe, stream

import tent
from tent.analysis import (
    FIGURES,
    Collector,
    Domain,
    ErrorByEntropy,
    LossByLevel,
    Numbers,
    analyse,
    compare_features,
    draw,
)
from tent.analysis.draw import PICTURES
from tent.analysis.draw.levels import draw_levels, family
from tent.analysis.draw.movement_lines import draw_movement
from tent.analysis.draw.type_bars import draw_error_by_type
from tent.data.corruptions import BENCHMARK
from tent.plotting import pyplot


@pytest.fixture(scope="module")
def found() -> dict[str, Numbers]:
    figures: list[Collector] = [kind() for kind in FIGURES.values()]
    numbers = analyse(models(), grid(levels=(1, 5)), figures)
    own = models()
    numbers["features"] = compare_features(own["Source"].source, own, stream(shift=1.0), stream(), 2)
    return numbers


def test_every_figure_is_drawn_and_saved_as_csv_and_json(found: dict[str, Numbers], tmp_path: Path) -> None:
    assert set(PICTURES) == set(found)
    for name, numbers in found.items():
        files = [*numbers.save(tmp_path, provenance={"commit": "c0ffee"}), *draw(numbers, tmp_path, "a title", ["svg"])]
        assert {f"{name}.svg", f"{name}.csv", f"{name}.json"} <= {file.name for file in files}
        assert all(file.stat().st_size > 100 for file in files)
        with (tmp_path / f"{name}.csv").open(encoding="utf-8") as file:
            read = list(csv.DictReader(file))
        assert len(read) == len(numbers.rows)
        assert json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))["provenance"] == {"commit": "c0ffee"}


def test_saved_numbers_are_read_again_and_draw_the_same_picture_every_time(
    found: dict[str, Numbers], tmp_path: Path
) -> None:
    for name in ("change-of-loss", "features"):
        found[name].save(tmp_path)
        again = Numbers.load(tmp_path / f"{name}.json")
        assert again.tables.keys() == found[name].tables.keys()
        for row, saved in zip(found[name].rows, again.rows, strict=True):
            assert list(row) == list(saved)
            for value, read in zip(row.values(), saved.values(), strict=True):
                assert value == (pytest.approx(read, rel=1e-8) if isinstance(read, float) else read)
        first = [file.read_bytes() for file in draw(again, tmp_path, "t", ["svg"])]
        assert [file.read_bytes() for file in draw(again, tmp_path, "t", ["svg"])] == first


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("[1]")
    with pytest.raises(ValueError, match="not the numbers of a figure"):
        Numbers.load(tmp_path / "other.json")


def test_figures_without_labels_levels_or_images_in_a_bin_are_drawn(tmp_path: Path) -> None:
    bare = analyse(models(), {Domain("photos"): stream(labelled=False)}, [LossByLevel(), FIGURES["stream"]()])
    for numbers in bare.values():
        assert draw(numbers, tmp_path)
    certain = ErrorByEntropy()
    for seen in observe({"Source": torch.eye(4).repeat(5, 1) * 60}, torch.arange(4).repeat(5)):
        certain.add(seen)
    assert draw(certain.numbers(), tmp_path)


def test_many_classes_are_drawn_without_their_names(tmp_path: Path) -> None:
    figure = FIGURES["confusion"]()
    for seen in observe(draw_logits(60, 30), torch.arange(60) % 30):
        figure.add(seen)
    assert draw(figure.numbers(), tmp_path)


def test_types_are_of_the_benchmark_s_families() -> None:
    assert [family(kind) for kind in BENCHMARK] == [0] * 3 + [1] * 4 + [2] * 4 + [3] * 4
    assert family("spatter") == 4


OWN = ("Source", "SAR", "ETA", "LAME")  # the last three have no look of their own


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    """Close pictures that are looked at and not saved."""
    yield
    pyplot().close("all")


def drawn(figure: Collector, images: int = 400) -> Any:
    for seen in observe(draw_logits(images, 5, OWN), torch.arange(images) % 5):
        figure.add(seen)
    return next(iter(PICTURES[figure.name].values()))(figure.numbers(), "")


@pytest.mark.parametrize("name", ["stream", "calibration", "error-by-entropy"])
def test_methods_without_a_look_of_their_own_are_told_apart(name: str) -> None:
    lines = {line.get_label(): line.get_color() for line in drawn(FIGURES[name]()).axes[0].get_lines()}
    own = {colour for label, colour in lines.items() if str(label).split(":")[0] in OWN}
    assert len(own) == len(OWN)


def test_the_dotted_line_is_at_the_classes_of_uniform_answers() -> None:
    figure = FIGURES["stream"]()
    picture = drawn(figure)
    axis = next(axis for axis in picture.axes if axis.get_title(loc="left") == "effective classes")
    dotted = next(line for line in axis.get_lines() if line.get_linestyle() == ":")
    assert dotted.get_ydata()[0] == figure.numbers().summary["effective classes of uniform answers"] < 5


def test_a_domain_called_original_is_drawn_beside_the_original_data() -> None:
    streams = {Domain("original", level=0, original=True): stream(total=20), Domain("original"): stream(shift=1.0)}
    found = analyse(models(), streams, [FIGURES["error-by-type"](), LossByLevel()])
    (bars,) = draw_error_by_type(found["error-by-type"]).axes
    due = [100 * row["error"] for row in found["error-by-type"].rows if row["method"] == "Source"]  # type: ignore[operator]
    assert [bar.get_height() for bar in bars.containers[0]] == pytest.approx(due)
    entropy, loss = draw_levels(found["loss-by-level"]).axes
    rows = [row for row in found["loss-by-level"].rows if row["method"] == "Source"]
    for axis, name in ((entropy, "entropy"), (loss, "loss")):
        assert axis.get_ylabel() == f"mean {name} (nats)"
        assert [bar.get_height() for bar in axis.containers[0]] == pytest.approx([row[name] for row in rows])


def test_original_data_without_labels_have_no_point_of_loss(tmp_path: Path) -> None:
    streams = grid(levels=(1, 5))
    streams[Domain("original", level=0, original=True)] = stream(labelled=False, name="original")
    found = analyse(models(), streams, [LossByLevel()])["loss-by-level"]
    entropy, loss, points = draw_levels(found).axes
    assert entropy.get_lines()[0].get_xdata().tolist() == [0, 1, 5]
    assert loss.get_lines()[0].get_xdata().tolist() == [1, 5]
    assert len(points.get_lines()) == 4


def test_weights_of_other_layers_are_not_in_the_lines_of_norms() -> None:
    net = models()["Tent"].source
    own = {"Tent": tent.adapt(net, tent.Tent(), select=tent.select.everything, lr=0.1, lean=False)}
    found = analyse(own, {Domain("made"): stream(shift=0.5)}, [FIGURES["movement"]()])["movement"]
    lines = {line.get_label(): line for line in draw_movement(found).axes[0].get_lines()}
    assert set(lines) == {"γ", "β", "weight", "bias"}
    assert len({line.get_color() for line in lines.values()}) == 4
    assert len(lines["γ"].get_xdata()) == 2
