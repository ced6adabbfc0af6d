"""Pictures: a running mean by hand, and files that are whole."""

import builtins
from pathlib import Path

import pytest
from PIL import Image

from tent.plotting import pyplot, running_mean, save, save_figure


def test_a_running_mean_is_over_the_last_values() -> None:
    assert running_mean([1.0, 3.0, 5.0, 1.0], 2) == [1.0, 2.0, 4.0, 3.0]
    assert running_mean([1.0, 3.0, 5.0], 9) == [1.0, 2.0, 3.0]
    assert running_mean([], 3) == []


def test_a_picture_is_whole_and_alone(tmp_path: Path) -> None:
    figure, _ = pyplot().subplots(figsize=(3, 2))
    save(figure, tmp_path / "one.png")
    assert [path.name for path in tmp_path.iterdir()] == ["one.png"]
    with Image.open(tmp_path / "one.png") as picture:
        assert picture.size == (390, 260)
    assert not pyplot().fignum_exists(figure.number)


def test_a_picture_that_cannot_be_written_is_closed(tmp_path: Path) -> None:
    for write in (save, save_figure):
        figure, _ = pyplot().subplots(figsize=(3, 2))
        with pytest.raises(FileNotFoundError):
            write(figure, tmp_path / "no folder" / "one.png")
        assert not pyplot().fignum_exists(figure.number)


def test_without_matplotlib_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: object, **kwargs: object) -> object:
        if name == "matplotlib":
            raise ModuleNotFoundError("No module named 'matplotlib'")
        return real(name, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'tent-tta\[bench\]'"):
        pyplot()
