"""Statistics by the size of a batch."""

import pytest

from tent import norm


def test_small_batches_get_a_prior_and_usual_ones_their_own_statistics() -> None:
    assert [norm.for_batch_size(n) for n in (1, 3)] == [norm.Prior(4)] * 2
    assert [norm.for_batch_size(n) for n in (4, 16, norm.USUAL_BATCH - 1)] == [norm.Prior(16)] * 3
    assert norm.for_batch_size(norm.USUAL_BATCH) == norm.for_batch_size(200) == norm.Batch()
    with pytest.raises(ValueError, match="a batch has 1 sample or more, got 0"):
        norm.for_batch_size(0)
