import made
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tent.data import Preprocess, Stream
from tent.data.order import Shuffled, Stored
from tent.data.sets.arrays import ArrayImages
from tent.data.stream import Batch


def numbered(n: int, name: str = "set", first: int = 0, classes: int = 1000, labelled: bool = True) -> ArrayImages:
    """Images whose one pixel and whose label are their number."""
    numbers = np.arange(first, first + n)
    pixels = np.broadcast_to(numbers.astype(np.uint8)[:, None, None, None], (n, 2, 2, 3))
    return ArrayImages(name, pixels, numbers if labelled else None, classes, file=f"{name}.npy")


def seen(stream: Stream) -> list[list[int]]:
    return [batch.labels.tolist() for batch in stream]


def labels(stream: Stream) -> list[int]:
    return [label for batch in seen(stream) for label in batch]


def test_batches_are_images_and_their_labels():
    batches = list(Stream(numbered(10), batch_size=4))
    assert [len(batch.inputs) for batch in batches] == [4, 4, 2]
    for x, y, domain in batches:
        assert domain == "set"
        assert x.dtype == torch.float32
        assert y.dtype == torch.int64
        assert torch.equal((x[:, 0, 0, 0] * 255).round().long(), y)


def test_the_order_is_a_shuffle_by_the_seed_alone():
    one, same, other = (Stream(numbered(50), 8, Shuffled(seed)) for seed in (3, 3, 4))
    assert seen(one) == seen(same) == seen(one)
    assert seen(one) != seen(other)
    flat = labels(one)
    assert sorted(flat) == list(range(50))
    assert flat != sorted(flat)


def test_batch_size_does_not_change_the_order():
    assert labels(Stream(numbered(50), 7)) == labels(Stream(numbered(50), 20))


def test_no_seed_keeps_the_order_stored():
    assert seen(Stream(numbered(5), 2, Stored())) == [[0, 1], [2, 3], [4]]


def test_it_says_its_protocol_in_words():
    stream = Stream(numbered(2000, "cifar10 test"), 200, Shuffled(1), Preprocess(size=32))
    assert stream.protocol == (
        "cifar10 test: 2,000 images, shuffled by seed 1, batches of 200;"
        " shorter side resized to 32 (bilinear), scaled to 0..1"
    )
    assert "in the order stored" in Stream(numbered(3), 2, Stored()).protocol
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
    x, _, _ = next(iter(Stream(other, 6, Stored(), Preprocess(**sized))))
    assert torch.equal(x, torch.cat([Preprocess(**sized)([each]) for each in other.fetch(np.arange(6))]))
    plain = Preprocess(mean=sized["mean"], std=sized["std"])
    monkeypatch.setattr(Preprocess, "shape", lambda *_: pytest.fail("an image was shaped on its own"))
    (x, y, _), (same, _, _) = (next(iter(Stream(fits, 4, Shuffled(1), each))) for each in (Preprocess(**sized), plain))
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


def test_streams_in_sequence_keep_their_batches():
    a, b = Stream(numbered(5), 2, Stored()), Stream(numbered(3, "other", first=100), 2, Stored())
    both = Stream.sequence([a, b])
    assert seen(both) == [[0, 1], [2, 3], [4], [100, 101], [102]]
    assert (both.name, both.total, len(both)) == ("set, then other", 8, 5)
    assert both.protocol == f"one after another: [{a.protocol}] [{b.protocol}]"
    assert both.where(5) == "other.npy[0]"
    assert [batch.domain for batch in both] == ["set"] * 3 + ["other"] * 2
    assert both.domains == ("set", "other")
    assert both.order_words == "2 domains one after another, each in the order stored"
    mixed_orders = Stream.sequence([a, Stream(numbered(3), 2, domain="other")])
    assert mixed_orders.order_words == "2 domains one after another, each in its own order"
    assert Stream.sequence([a, b], name="continual").name == "continual"


def test_mixed_streams_are_shuffled_together():
    a, b = Stream(numbered(60), 6, Stored()), Stream(numbered(30, "other", first=100), 6, Stored())
    mixed = Stream.mixed([a, b], seed=3)
    flat = labels(mixed)
    assert sorted(flat) == [*range(60), *range(100, 130)]
    assert flat == [labels(Stream.sequence([a, b]))[i] for i in np.random.default_rng(3).permutation(90)]
    turns = [label >= 100 for label in flat]
    assert len({tuple(turns[i : i + 3]) for i in range(0, 90, 3)}) > 4  # no round-robin
    assert mixed.protocol == f"mixed, shuffled by seed 3, batches of 6: [{a.protocol}] [{b.protocol}]"
    assert mixed.order_words == "2 domains mixed, shuffled by seed 3"
    assert set(mixed.domains) == {"set", "other"}
    for number, batch in enumerate(mixed):
        own = ["other" if label >= 100 else "set" for label in batch.labels.tolist()]
        assert mixed.batch_domains(number) == own
        assert batch.domain == "mixed"
    assert [batch.domain for batch in Stream.mixed([a, b], batch_size=1)] == ["mixed"] * 90
    assert [batch.domain for batch in Stream.sequence([mixed.first(6), a.first(6)])] == ["mixed", "set"]
    assert [len(batch) for batch in seen(Stream.mixed([a, b], batch_size=50))] == [50, 40]
    assert labels(Stream.mixed([a, b], seed=4)) != flat == labels(Stream.mixed([a, b], seed=3))
    x, y, _ = next(iter(mixed))
    assert torch.equal((x[:, 0, 0, 0] * 255).round().long(), y)


def test_recurring_streams_come_again_in_the_same_order():
    a, b = Stream(numbered(5), 2), Stream(numbered(3, "other", first=100), 2)
    again = Stream.recurring([a, b], 3)
    assert seen(again) == (seen(a) + seen(b)) * 3
    assert [batch.domain for batch in again] == (["set"] * 3 + ["other"] * 2) * 3
    assert (again.domains, again.name) == (("set", "other"), "3 times set, then other")
    assert again.order_words == "2 domains one after another, 3 times, each shuffled by seed 0"
    assert again.protocol == f"one after another, 3 times: [{a.protocol}] [{b.protocol}]"
    with pytest.raises(ValueError, match="times 0"):
        Stream.recurring([a], 0)


def test_joined_streams_join_again():
    a, b = Stream(numbered(4), 2, Stored()), Stream(numbered(4, "b", first=50), 2, Stored())
    mixed = Stream.mixed([a, b])
    again = Stream.sequence([mixed.first(3), Stream.sequence([b, a]).first(3)])
    assert seen(again) == [labels(mixed)[:2], labels(mixed)[2:3], [50, 51], [52]]
    places = {label: f"{'b' if label >= 50 else 'set'}.npy[{label % 50}]" for label in labels(mixed)}
    assert [again.where(place) for place in range(3)] == [places[label] for label in labels(mixed)[:3]]


@given(st.lists(st.integers(1, 30), min_size=1, max_size=4), st.integers(1, 9), st.data())
def test_joining_and_cutting_lose_and_double_nothing(sizes, batch_size, data):
    parts = [Stream(numbered(n, f"set {i}", first=100 * i), batch_size, Shuffled(i)) for i, n in enumerate(sizes)]
    every = sorted(label for part in parts for label in labels(part))
    joined = [Stream.sequence(parts), Stream.mixed(parts), Stream.recurring(parts, 1)]
    for stream in joined:
        flat = labels(stream)
        assert sorted(flat) == every
        assert len(stream) == len(seen(stream))
        n = data.draw(st.integers(1, stream.total))
        assert labels(stream.first(n)) == flat[:n]


def test_without_labels_there_are_none():
    assert [y for _, y, _ in Stream(numbered(5, labelled=False), 2)] == [None] * 3
    mixed = Stream.mixed([Stream(numbered(5, labelled=False), 2)] * 2)
    assert [y for _, y, _ in mixed] == [None] * 5


def test_streams_that_do_not_belong_together_are_refused():
    a = Stream(numbered(5), 2)
    with pytest.raises(ValueError, match="classes cannot be joined"):
        Stream.sequence([a, Stream(numbered(5, classes=1001), 2)])
    with pytest.raises(ValueError, match="with and without labels"):
        Stream.mixed([a, Stream(numbered(5, "other", labelled=False), 2)])
    with pytest.raises(ValueError, match="at least one"):
        Stream.sequence([])


@pytest.mark.parametrize("join", [Stream.sequence, Stream.mixed, lambda streams: Stream.recurring(streams, 2)])
def test_two_domains_have_two_names(join):
    data = numbered(5)
    one, other = Stream(data, 2), Stream(numbered(5, first=50), 2)
    with pytest.raises(ValueError, match=r"two different streams are named 'set'.*; pass domain=\"\.\.\.\" to Stream"):
        join([one, other])
    with pytest.raises(ValueError, match="two different streams are named 'set'"):
        join([one, Stream(data, 2, preprocess=Preprocess(size=(4, 4)))])
    assert join([one, Stream(numbered(5, first=50), 2, domain="other")]).domains[:1] in (("set",), ("other",))
    assert join([one, one, Stream(data, 3, Stored()), one.first(2)]).domains == ("set",)  # the same domain again


@pytest.mark.parametrize("size", [0, -5])
def test_a_batch_of_a_mixture_has_an_image(size):
    with pytest.raises(ValueError, match=f"batch_size {size}: a batch has at least one image"):
        Stream.mixed([Stream(numbered(3), 2)], batch_size=size)


def test_images_of_two_sizes_do_not_mix_in_a_batch():
    other = ArrayImages("other", made.pixels(3, 4, 4, 3), np.arange(3), 1000)
    with pytest.raises(ValueError, match="to one size"):
        list(Stream.mixed([Stream(numbered(3), 2), Stream(other, 2)]))


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
    stream = Stream(numbered(4), 4, Stored())
    x, y, _ = next(iter(stream))
    x.zero_()
    y.fill_(7)
    assert seen(stream) == [[0, 1, 2, 3]]


def test_a_batch_goes_to_a_device_without_its_labels() -> None:
    batch = Batch({"x": torch.zeros(2)}, torch.zeros(2), "noise").to(torch.device("meta"))
    assert (batch.inputs["x"].device.type, batch.labels.device.type, batch.domain) == ("meta", "cpu", "noise")


@pytest.mark.parametrize("batches", range(5))
def test_what_follows_after_some_batches(batches):
    stream = Stream(numbered(10), 3, Shuffled(1))
    assert seen(stream.after(batches)) == seen(stream)[batches:]


@pytest.mark.parametrize(("n", "sizes"), [(9, [4, 5]), (10, [4, 4, 2]), (8, [4, 4]), (1, [1])])
def test_a_short_last_batch_joins_the_one_before(n, sizes):
    stream = Stream(numbered(n), 4, Stored())
    assert [len(batch) for batch in seen(stream.join_tail(2))] == sizes
    assert labels(stream.join_tail(2)) == labels(stream)
