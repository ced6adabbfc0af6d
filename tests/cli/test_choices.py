"""Methods in words: names, files, and options by place or by name."""

from pathlib import Path

import pytest

import tent
from tent.cli.choices import METHOD, parse_method, parse_size, parse_stats, parse_three, track
from tent.methods import METHODS

OWN = """
import tent

class Mine(tent.Method):
    def __init__(self, layer, depth=None, rate=0.5, loud=False, note="none", pick=max):
        self.layer, self.depth, self.rate, self.loud, self.note = layer, depth, rate, loud, note
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(OWN)
    return str(tmp_path / "mine.py")


def test_the_help_names_every_method() -> None:
    assert set(METHOD.partition(", or")[0].split(", ")) == set(METHODS)


@pytest.mark.parametrize(
    ("word", "method"),
    [
        ("tent", tent.Tent()),
        ("tent:", tent.Tent()),
        ("pl:0.9", tent.PL(0.9)),
        ("pl:threshold=1", tent.PL(1.0)),
        ("ttt:32", tent.TTT(copies=32)),
        ("ttt:mirror=True,shift=2,copies=3", tent.TTT(copies=3, shift=2, mirror=True)),
    ],
)
def test_methods_of_the_library(word: str, method: tent.Method) -> None:
    assert parse_method(word) == method


def test_a_method_in_a_file_takes_values_of_the_types_of_its_defaults(file: str) -> None:
    method = parse_method(f"{file}:Mine:layer=conv1,depth=3,rate=2,loud=true,note=7")
    assert vars(method) == {"layer": "conv1", "depth": 3, "rate": 2.0, "loud": True, "note": "7"}
    assert isinstance(vars(method)["rate"], float)
    assert vars(parse_method(f"{file}:Mine:4"))["layer"] == 4
    assert vars(parse_method(f"{file}:Mine:4,depth=0.5"))["depth"] == 0.5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "missing 1 required positional argument: 'layer'"),
        (":x,rate=fast", "'fast' is not a number"),
        (":x,loud=2", "'2' is not true or false"),
        (":x,pick=min", "has no option 'pick'; it has layer, depth, rate, loud, note"),
    ],
)
def test_what_a_method_in_a_file_does_not_take(file: str, words: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_method(f"{file}:Mine{words}")


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("pl:x", "'x' is not a number"),
        ("ttt:2.5", "'2.5' is not a whole number"),
        ("bn:3", "bn takes no option, got '3'"),
    ],
)
def test_what_a_method_of_the_library_does_not_take(word: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_method(word)


def test_statistics_by_name() -> None:
    assert parse_stats(None) is None
    assert parse_stats("prior:8") == tent.norm.Prior(8)


def test_sizes_and_numbers_of_channels() -> None:
    assert parse_size("--size", None) is None
    assert parse_size("--size", "224") == 224
    assert parse_size("--size", "224x320") == (224, 320)
    assert parse_three("--mean", None) is None
    assert parse_three("--mean", "0.5") == (0.5, 0.5, 0.5)
    assert parse_three("--mean", "1,2,3.5") == (1, 2, 3.5)
    for text in ("0", "x", "2x", "-3", "1,2"):
        with pytest.raises(ValueError, match="--size takes pixels"):
            parse_size("--size", text)
    for text in ("1,2", "red", ""):
        with pytest.raises(ValueError, match="--mean takes three numbers"):
            parse_three("--mean", text)


def test_progress_in_a_log_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    times = iter(range(0, 1000, 20))
    monkeypatch.setattr("tent.cli.choices.monotonic", lambda: float(next(times)))
    assert list(track(range(6), "adapting", 6)) == list(range(6))  # type: ignore[arg-type]
    said = capsys.readouterr().err.splitlines()
    assert said == [
        f"adapting: {n} of 6 batches, about {left} left" for n, left in ((2, "1 min 20 s"), (4, "40 s"), (6, "0 s"))
    ]
