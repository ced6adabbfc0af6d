import re

import pytest

from tent.data import known_sets
from tent.data.sets import catalog


@pytest.mark.parametrize("about", known_sets().values(), ids=lambda about: about.name)
def test_what_is_known_of_a_set_is_well_formed(about):
    assert catalog.get_set(about.name) is about
    assert about.class_names is None or len(about.class_names) == about.classes
    assert len({file.name for file in about.files}) == len(about.files)
    for file in about.files:
        assert file.url is None or re.match(r"https?://[^ ]+$", file.url)
        assert file.md5 is None or re.fullmatch("[0-9a-f]{32}", file.md5)
        assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256)
        assert file.gives


def test_only_visda_comes_without_a_published_sum():
    without = {about.name for about in known_sets().values() for file in about.files if not (file.md5 or file.sha256)}
    assert without == {"visda-c"}


def test_the_table_cannot_be_changed_through_what_is_handed_out():
    known_sets().clear()
    assert "cifar10" in known_sets()
