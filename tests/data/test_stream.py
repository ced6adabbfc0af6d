import made
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tent.data import Preprocess, Stream
from tent.data.sets.arrays import ArrayImages


def numbered(n: int, name: str = "set", first: int = 0, classes: int = 1000, labelled: bool = True) -> ArrayImages:
    """Images whose one pixel and whose label are their number."""
    numbers = np.arange(first, first + n)
    pixels = np.broadcast_to(numbers.astype(np.uint8)[:, None, None, None], (n, 2, 2, 3))
    return ArrayImages(name, pixels, numbers if labelled else None, classes, file=f"{name}.npy")


def seen(stream: Stream) -> list[list[int]]:
    return [y.tolist() for _, y in stream]


def labels(stream: Stream) -> list[int]:
    return [label for batch in seen(stream) for label in batch]


def test_batches_are_images_and_their_labels():
    batches = list(Stream(numbered(10), batch_size=4))
    assert [len(x) for x, _ in batches] == [4, 4, 2]
    for x, y in batches:
        assert x.dtype == torch.float32
        assert y.dtype == torch.int64
        assert torch.equal((x[:, 0, 0, 0] * 255).round().long(), y)


def test_the_order_is_a_shuffle_by_the_seed_alone():
    one, same, other = (Stream(numbered(50), 8, seed) for seed in (3, 3, 4))
    assert seen(one) == seen(same) == seen(one)
    assert seen(one) != seen(other)
    flat = labels(one)
    assert sorted(flat) == list(range(50))
    assert flat != sorted(flat)


def test_batch_size_does_not_change_the_order():
    assert labels(Stream(numbered(50), 7)) == labels(Stream(numbered(50), 20))


def test_no_seed_keeps_the_order_stored():
    assert seen(Stream(numbered(5), 2, None)) == [[0, 1], [2, 3], [4]]


def test_it_says_its_protocol_in_words():
    stream = Stream(numbered(2000, "cifar10 test"), 200, 1, Preprocess(size=32))
    assert stream.protocol == (
        "cifar10 test: 2,000 images, shuffled by seed 1, batches of 200;"
        " shorter side resized to 32 (bilinear), scaled to 0..1"
    )
    assert "in the order stored" in Stream(numbered(3), 2, None).protocol
    assert (stream.name, stream.classes, stream.total, len(stream), stream.batch_size) == (
        "cifar10 test",
        1000,
        2000,
        10,
        200,
    )


def test_a_size_resizes_what_has_another_and_leaves_the_rest_in_one_piece(monkeypatch):
    fits, other = (ArrayImages("x", made.pixels(6, side, side, 1), np.arange(6), 10) for side in (8, 7))
    sized = {"size": (8, 8), "mean": (0.5, 0.4, 0.3), "std": (0.2, 0.3, 0.4)}
    x, _ = next(iter(Stream(other, 6, None, Preprocess(**sized))))
    assert torch.equal(x, torch.cat([Preprocess(**sized)([each]) for each in other.fetch(np.arange(6))]))
    plain = Preprocess(mean=sized["mean"], std=sized["std"])
    monkeypatch.setattr(Preprocess, "shape", lambda *_: pytest.fail("an image was shaped on its own"))
    (x, y), (same, _) = (next(iter(Stream(fits, 4, 1, each))) for each in (Preprocess(**sized), plain))
    assert torch.equal(x, same)
    assert x.shape == (4, 3, 8, 8)
    assert len(y) == 4


def test_the_first_n_are_the_first_of_the_same_order():
    stream = Stream(numbered(50), 8)
    cut = stream.first(20)
    assert [len(batch) for batch in seen(cut)] == [8, 8, 4]
    assert labels(cut) == labels(stream)[:20]
    assert cut.protocol == f"the first 20 of [{stream.protocol}]"
    assert seen(stream.first(16)) == seen(stream)[:2]


@pytest.mark.parametrize("n", [0, -1, 51])
def test_no_more_than_there_are_can_be_cut(n):
    with pytest.raises(ValueError, match="choose from 1 to 50"):
        Stream(numbered(50), 8).first(n)


def test_concatenated_streams_keep_their_batches():
    a, b = Stream(numbered(5), 2, None), Stream(numbered(3, "other", first=100), 2, None)
    both = Stream.concat([a, b])
    assert seen(both) == [[0, 1], [2, 3], [4], [100, 101], [102]]
    assert (both.name, both.total, len(both)) == ("set, then other", 8, 5)
    assert both.protocol == f"one after another: [{a.protocol}] [{b.protocol}]"
    assert both.where(5) == "other.npy[0]"
    assert Stream.concat([a, b], name="continual").name == "continual"


def test_interleaved_streams_mix_within_a_batch():
    a, b = Stream(numbered(5), 3, None), Stream(numbered(3, "other", first=100), 2, None)
    mixed = Stream.interleave([a, b])
    assert seen(mixed) == [[0, 100, 1], [101, 2, 102], [3, 4]]
    assert mixed.protocol == f"in turn, image by image, batches of 3: [{a.protocol}] [{b.protocol}]"
    assert seen(Stream.interleave([a, b], batch_size=8)) == [[0, 100, 1, 101, 2, 102, 3, 4]]
    x, y = next(iter(mixed))
    assert torch.equal((x[:, 0, 0, 0] * 255).round().long(), y)


def test_interleaved_by_batch_they_take_turns():
    a, b = Stream(numbered(5), 2, None), Stream(numbered(3, "other", first=100), 2, None)
    assert seen(Stream.interleave([a, b], by="batch")) == [[0, 1], [100, 101], [2, 3], [102], [4]]


def test_joined_streams_join_again():
    a, b = Stream(numbered(4), 2, None), Stream(numbered(4, "b", first=50), 2, None)
    again = Stream.concat([Stream.interleave([a, b]).first(3), Stream.concat([b, a]).first(3)])
    assert seen(again) == [[0, 50], [1], [50, 51], [52]]
    assert [again.where(place) for place in range(3)] == ["set.npy[0]", "b.npy[0]", "set.npy[1]"]


@given(st.lists(st.integers(1, 30), min_size=1, max_size=4), st.integers(1, 9), st.data())
def test_joining_and_cutting_lose_and_double_nothing(sizes, batch_size, data):
    parts = [Stream(numbered(n, first=100 * i), batch_size, seed=i) for i, n in enumerate(sizes)]
    every = sorted(label for part in parts for label in labels(part))
    joined = [Stream.concat(parts), Stream.interleave(parts), Stream.interleave(parts, by="batch")]
    for stream in joined:
        flat = labels(stream)
        assert sorted(flat) == every
        assert len(stream) == len(seen(stream))
        n = data.draw(st.integers(1, stream.total))
        assert labels(stream.first(n)) == flat[:n]


def test_without_labels_there_are_none():
    assert [y for _, y in Stream(numbered(5, labelled=False), 2)] == [None] * 3
    mixed = Stream.interleave([Stream(numbered(5, labelled=False), 2)] * 2)
    assert [y for _, y in mixed] == [None] * 5


def test_streams_that_do_not_belong_together_are_refused():
    a = Stream(numbered(5), 2)
    with pytest.raises(ValueError, match="classes cannot be joined"):
        Stream.concat([a, Stream(numbered(5, classes=1001), 2)])
    with pytest.raises(ValueError, match="with and without labels"):
        Stream.interleave([a, Stream(numbered(5, labelled=False), 2)])
    with pytest.raises(ValueError, match="at least one"):
        Stream.concat([])
    with pytest.raises(ValueError, match="by 'image' or by 'batch'"):
        Stream.interleave([a], by="pixel")
    with pytest.raises(ValueError, match="keep their own batches"):
        Stream.interleave([a], by="batch", batch_size=3)


def test_images_of_two_sizes_do_not_mix_in_a_batch():
    other = ArrayImages("other", made.pixels(3, 4, 4, 3), np.arange(3), 1000)
    with pytest.raises(ValueError, match="to one size"):
        list(Stream.interleave([Stream(numbered(3), 2), Stream(other, 2)]))


@pytest.mark.parametrize("size", [0, -5])
def test_a_batch_has_an_image(size):
    with pytest.raises(ValueError, match="at least one image"):
        Stream(numbered(3), size)


def test_an_empty_set_is_refused():
    with pytest.raises(ValueError, match="no images"):
        Stream(numbered(0))


def test_only_what_is_asked_for_is_read():
    class Counting(ArrayImages):
        read = 0

        def fetch(self, indices, each=None):
            Counting.read += len(indices)
            return super().fetch(indices, each)

    stream = Stream(Counting("counting", made.pixels(40, 2, 2, 3), np.zeros(40, dtype=np.int64), 10), 8)
    assert Counting.read == 0
    next(iter(stream))
    assert Counting.read == 8


def test_two_iterations_do_not_disturb_each_other():
    stream = Stream(numbered(20), 4)
    pairs = list(zip(stream, stream, strict=True))
    assert all(torch.equal(a[0], b[0]) and torch.equal(a[1], b[1]) for a, b in pairs)
    assert len(pairs) == 5


def test_the_caller_may_write_to_a_batch():
    stream = Stream(numbered(4), 4, None)
    x, y = next(iter(stream))
    x.zero_()
    y.fill_(7)
    assert seen(stream) == [[0, 1, 2, 3]]
