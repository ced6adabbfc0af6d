"""Reading ahead: the same batches, errors and notes as without it, and no thread left behind."""

import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import made
import pytest
import torch
from torch import nn

import tent
from tent.data import Preprocess, Stream, load
from tent.data.order import Shuffled, Stored
from tent.data.prefetch import read_ahead
from tent.data.samples import Samples
from tent.data.segments.tiles import TiledImages
from tent.data.sets.folders import FolderImages, open_folder
from tent.data.stream import Batch
from tent.evaluate import evaluate

BAD = (1, 4, 5, 6, 7, 13)  # one alone, a whole batch of four, and one of the last batch
FEW = tent.norm.Prior(16)  # for batches of so few


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Fourteen images of other sizes in two classes."""
    for i in range(14):
        kind, name = ("a", "b")[i >= 7], f"{i:02d}.png"
        (tmp_path / "photos" / kind).mkdir(parents=True, exist_ok=True)
        made.image_file(tmp_path / "photos" / kind / name, made.pixels(20 + i, 24, 3, seed=i))
    return tmp_path / "photos"


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    assert threads() == []


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("tent-prefetch")]


def spoil(folder: Path, *places: int) -> None:
    for path in [sorted(folder.rglob("*.png"))[place] for place in places]:
        path.write_bytes(b"junk")


def open_stream(folder: Path, skips: bool = False, order: Stored | Shuffled = Stored()) -> tuple[FolderImages, Stream]:  # noqa: B008
    images = open_folder(folder)
    images.skips = skips
    return images, Stream(images, 4, order, Preprocess(size=16, crop=16))


def same(one: list[Batch], other: list[Batch]) -> bool:
    return [(b.labels.tolist(), b.domain) for b in one] == [(b.labels.tolist(), b.domain) for b in other] and all(
        torch.equal(a.inputs, b.inputs) for a, b in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("batches", [None, 1, 2, 9])
def test_the_batches_are_the_same_to_the_bit(folder: Path, batches: int | None) -> None:
    _, stream = open_stream(folder, order=Shuffled(3))
    assert same(list(stream.prefetch(batches)), list(stream))
    assert same(list(stream.prefetch(batches)), list(stream))  # and again


def test_domains_and_mixtures_come_as_without(folder: Path) -> None:
    one, other = (Stream(open_folder(folder), 4, Shuffled(i), Preprocess(size=(8, 8)), f"d{i}") for i in range(2))
    for stream in (Stream.sequence([one, other]), Stream.mixed([one, other]), Stream.recurring([one, other], 2)):
        assert same(list(stream.prefetch()), list(stream))


def test_files_are_read_ahead_and_arrays_are_not(folder: Path) -> None:
    _, stream = open_stream(folder)
    batches = stream.prefetch()
    next(batches)
    assert len(threads()) == 1
    batches.close()
    samples = Stream(Samples([(torch.zeros(2), i) for i in range(8)]), 4)
    for each, count in ((samples.prefetch(), 0), (samples.prefetch(2), 1)):
        next(each)
        assert len(threads()) == count
        each.close()
    with pytest.raises(ValueError, match="prefetch -1: give the batches"):
        stream.prefetch(-1)


def test_at_most_so_many_are_held() -> None:
    alive: weakref.WeakSet[torch.Tensor] = weakref.WeakSet()
    most = 0

    def read(number: int) -> torch.Tensor:
        nonlocal most
        made = torch.full((1,), number)
        alive.add(made)
        most = max(most, len(alive))
        return made

    for number, item in enumerate(read_ahead(read, 20, 3)):
        assert int(item) == number
        time.sleep(0.002)  # so that the reader gets as far ahead as it may
    assert most <= 3 + 2  # those ahead, the loop's own, and the next that takes its name
    assert most >= 4


def collect(batches: Iterator[Batch], into: list[Batch]) -> None:
    for batch in batches:
        into.append(batch)


def test_an_error_comes_in_its_place(folder: Path) -> None:
    spoil(folder, 9)
    _, stream = open_stream(folder)
    plain: list[Batch] = []
    ahead: list[Batch] = []
    with pytest.raises(ValueError, match=r"09\.png: not a whole image") as error:
        collect(iter(stream), plain)
    with pytest.raises(ValueError, match=r"09\.png: not a whole image") as same_error:
        collect(stream.prefetch(3), ahead)
    assert str(error.value) == str(same_error.value)
    assert len(ahead) == 2
    assert same(plain, ahead)


@pytest.mark.parametrize("batches", [1, 2, 9])
def test_what_cannot_be_read_is_noted_in_its_turn(folder: Path, batches: int) -> None:
    spoil(folder, *BAD)
    images, stream = open_stream(folder, skips=True)
    others, ahead = open_stream(folder, skips=True)
    for plain, other in zip(stream, ahead.prefetch(batches), strict=True):
        assert same([plain], [other])
        assert images.unreadable == others.unreadable  # not what was found ahead
        assert stream.readable == ahead.readable
    assert images.unreadable == others.unreadable
    assert sorted(others.unreadable) == list(BAD)
    assert same(list(stream), list(ahead.prefetch(batches)))  # the second pass leaves the same out


def test_an_unreadable_image_stays_left_out_when_its_set_comes_again(folder: Path) -> None:
    spoil(folder, 2)
    images, stream = open_stream(folder, skips=True)
    again = Stream.recurring([stream], 3)
    assert [len(batch.labels) for batch in again.prefetch(9)] == [3, 4, 4, 2] * 3
    assert list(images.unreadable) == [2]


def test_tiles_of_an_unreadable_image_are_noted_in_their_turn(folder: Path) -> None:
    sets = []
    for _ in range(2):
        images = open_folder(folder)
        images.skips = True
        sets.append(TiledImages(images, range(6), (16, 16), Preprocess()))
    spoil(folder, 1, 4)
    plain, ahead = (Stream(tiles, 3, Stored(), Preprocess()) for tiles in sets)
    for one, other in zip(plain, ahead.prefetch(9), strict=True):
        assert torch.equal(one.inputs, other.inputs)
        assert sets[0].unreadable == sets[1].unreadable
    assert len(sets[1].unreadable) == 8  # four of each image


def test_a_set_of_which_nothing_can_be_read_yields_nothing(folder: Path) -> None:
    spoil(folder, *range(14))
    images, stream = open_stream(folder, skips=True)
    assert list(stream.prefetch()) == []
    assert len(images.unreadable) == 14


def test_a_loop_that_ends_early_stops_the_thread(folder: Path) -> None:
    _, stream = open_stream(folder)
    for _ in stream.prefetch():
        break
    assert threads() == []
    with pytest.raises(KeyboardInterrupt):
        interrupt(stream)
    assert threads() == []


def interrupt(stream: Stream) -> None:
    for _ in stream.prefetch():
        raise KeyboardInterrupt


def test_what_was_not_begun_is_never_read() -> None:
    begun: list[int] = []

    def read(number: int) -> int:
        begun.append(number)
        time.sleep(0.05)
        return number

    items = read_ahead(read, 100, 50)
    next(items)
    items.close()
    assert len(begun) <= 3


def net() -> nn.Module:
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)]
    return nn.Sequential(*layers).eval()


def answers(stream: Stream, **options: object) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    evaluate(tent.adapt(net(), stats=FEW), stream, on_batch=lambda _, output: found.append(output), **options)  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("options", [{}, {"offline": True, "epochs": 2}])
def test_evaluate_reads_files_ahead_and_answers_the_same(
    folder: Path, options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(folder, *BAD)
    names = set()
    real = FolderImages.fetch

    def fetch(self: FolderImages, *args: object) -> object:
        names.add(threading.current_thread().name)
        return real(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(FolderImages, "fetch", fetch)
    ahead = answers(open_stream(folder, skips=True)[1], **options)
    assert {name.startswith("tent-prefetch") for name in names} == {True}
    monkeypatch.setattr("tent.data.stream.AHEAD", 0)
    plain = answers(open_stream(folder, skips=True)[1], **options)
    assert len(plain) == 3
    assert all(torch.equal(a, b) for a, b in zip(ahead, plain, strict=True))


def test_a_failure_in_a_loop_leaves_no_thread(folder: Path) -> None:
    def fail(batch: Batch, output: object) -> None:
        raise RuntimeError("on the first batch")

    with pytest.raises(RuntimeError, match="on the first batch") as kept:  # whose traceback holds the loop's frames
        evaluate(net(), open_stream(folder)[1], on_batch=fail)
    assert kept.value
    assert threads() == []


def test_what_was_read_ahead_is_not_done(folder: Path) -> None:
    """A run that stops after one batch goes on with the second, with the notes that it had then."""
    spoil(folder, *BAD)
    whole = answers(open_stream(folder, skips=True)[1])
    images, stream = open_stream(folder, skips=True)
    model, found, notes = tent.adapt(net(), stats=FEW), [], {}

    def stop(done: int) -> None:
        notes.update(images.unreadable)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(model, stream, on_batch=lambda _, output: found.append(output), after=stop)
    assert list(notes) == [1]
    images, stream = open_stream(folder, skips=True)
    images.unreadable.update(notes)
    evaluate(model, stream, on_batch=lambda _, output: found.append(output), done=1)
    assert all(torch.equal(a, b) for a, b in zip(found, whole, strict=True))
    assert sorted(images.unreadable) == list(BAD)


def test_a_set_by_name_reads_ahead_too(folder: Path) -> None:
    stream = Stream(load(f"folder:{folder}"), 4, preprocess=Preprocess(size=(8, 8)))
    assert same(list(stream.prefetch()), list(stream))
