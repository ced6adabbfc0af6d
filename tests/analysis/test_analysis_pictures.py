"""Pictures and files of figures' numbers."""

import csv
import json
from pathlib import Path

import pytest
import torch
from analysis_streams import draw_logits, grid, models, observe, stream

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
from tent.analysis.draw.levels import family
from tent.data.corruptions import BENCHMARK


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
