"""Orders: every sample once, the same every time, and as much correlation as was asked for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tent.data import Stream
from tent.data.order import Correlated, Order, Shuffled, SortedByClass, Stored, by_name
from tent.data.sets.arrays import ArrayImages

ORDERS = [Shuffled(3), Stored(), Correlated(0.1, 3), Correlated(100.0, 3), SortedByClass(3)]


def labels(n: int = 400, classes: int = 10) -> np.ndarray:
    return np.random.default_rng(7).integers(0, classes, n)


def changes(order: Order, known: np.ndarray) -> float:
    """The share of samples whose class is not that of the one before."""
    stream = known[order.permutation(len(known), lambda: known)]
    return float((stream[1:] != stream[:-1]).mean())


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.words)
@given(n=st.integers(1, 60), classes=st.integers(1, 12), seed=st.integers(0, 99))
def test_every_sample_comes_once_and_in_the_same_place_every_time(order, n, classes, seed):
    known = np.random.default_rng(seed).integers(0, classes, n)
    first, again = (order.permutation(n, lambda: known) for _ in range(2))
    assert first.dtype == np.int64
    assert sorted(first.tolist()) == list(range(n))
    assert np.array_equal(first, again)


def test_shuffled_is_the_permutation_of_its_seed():
    for seed in (0, 5):
        expected = np.random.default_rng(seed).permutation(50)
        assert np.array_equal(Shuffled(seed).permutation(50), expected)
    assert Stored().permutation(4).tolist() == [0, 1, 2, 3]


def test_sorted_is_by_class_and_shuffled_within():
    known = labels()
    order = SortedByClass(0).permutation(400, lambda: known)
    assert (np.diff(known[order]) >= 0).all()
    own = order[known[order] == 4]
    assert sorted(own.tolist()) == np.flatnonzero(known == 4).tolist() != own.tolist()
    assert not np.array_equal(order, SortedByClass(1).permutation(400, lambda: known))


def test_a_small_concentration_is_a_strong_correlation():
    known = labels(2000)
    shares = [changes(Correlated(c, 0), known) for c in (0.001, 0.1, 1.0, 100.0)]
    assert shares == sorted(shares)
    assert shares[0] < 0.02 < shares[-1] < changes(Shuffled(0), known) / 5  # in runs, always
    assert changes(Correlated(0.1, 0), known) != changes(Correlated(0.1, 1), known)


def test_each_class_is_spread_over_the_slots_by_a_dirichlet_draw():
    # at a huge concentration, every one of the ten slots holds a tenth of every class, as one run
    known = np.repeat(np.arange(10), 100)
    stream = known[Correlated(1e9, 0).permutation(1000, lambda: known)].reshape(10, 100)
    for slot in stream:
        assert np.bincount(slot).tolist() == pytest.approx([10] * 10, abs=1)
        assert (np.diff(slot) != 0).sum() <= 11
    assert len({tuple(dict.fromkeys(slot.tolist())) for slot in stream}) > 1  # in another order in every slot


def test_many_classes_share_a_hundred_slots():
    known = np.arange(300)
    assert sorted(Correlated(1.0).permutation(300, lambda: known).tolist()) == list(range(300))


@pytest.mark.parametrize("concentration", [0, -1.0, float("nan")])
def test_a_concentration_is_above_zero(concentration):
    with pytest.raises(ValueError, match="above 0"):
        Correlated(concentration)


def test_orders_by_name():
    assert [by_name(word, 4) for word in ("shuffled", "stored", "correlated:0.5", "sorted")] == [
        Shuffled(4),
        Stored(),
        Correlated(0.5, 4),
        SortedByClass(4),
    ]
    for word in ("random", "correlated", "correlated:x", "correlated:-1", "shuffled:3"):
        with pytest.raises(ValueError, match=f"no order '{word}'; there are shuffled, stored, correlated:C"):
            by_name(word)


def images(known: np.ndarray | None, n: int = 40) -> ArrayImages:
    return ArrayImages("set", np.zeros((n, 2, 2, 3), dtype=np.uint8), known, 10, file="set.npy")


def test_a_stream_follows_its_order_and_says_so():
    known = labels(40)
    for order in ORDERS:
        stream = Stream(images(known), 8, order)
        assert [y for batch in stream for y in batch.labels.tolist()] == known[stream.indices].tolist()
        assert np.array_equal(stream.indices, order.permutation(40, lambda: known))
        assert stream.order_words == order.words
        assert f"40 images, {order.words}, batches of 8" in stream.protocol
    assert Correlated(0.1, 3).words == "correlated by class, Dirichlet concentration 0.1, seed 3"
    assert SortedByClass(3).words == "sorted by class, each class shuffled by seed 3"


def test_an_order_by_class_needs_classes():
    with pytest.raises(ValueError, match="set: an order by class needs one label a sample"):
        Stream(images(None), 8, Correlated())
    with pytest.raises(ValueError, match="needs one label a sample"):
        SortedByClass().permutation(3)


def test_a_seed_is_not_an_order():
    with pytest.raises(TypeError, match=r"such as Shuffled\(0\)"):
        Stream(images(None), 8, 0)  # type: ignore[arg-type]
