"""Where numbers come from: time in words."""

import pytest

from tent.environment import duration


@pytest.mark.parametrize(("seconds", "said"), [(0.4, "0 s"), (61, "1 min 01 s"), (3600 * 2 + 5 * 60, "2 h 05 min")])
def test_time_in_words(seconds, said):
    assert duration(seconds) == said
