"""Pairs of a shifted image and its clean original: which sets are such, and those of which both can be read."""

from pathlib import Path

import numpy as np

from tent.data.order import Indices
from tent.data.sets.folders import FolderImages
from tent.data.sets.images import Images

PARTNER = "its partner in another set cannot be read"
AT_ONCE = 64  # images in memory


def are_pairs(one: Images, other: Images) -> bool:
    """Tell whether two sets show the same images in the same order: files by their names, arrays by their labels."""
    if isinstance(one, FolderImages) or isinstance(other, FolderImages):
        names = [[Path(file).with_suffix("") for file in getattr(each, "files", ())] for each in (one, other)]
        return names[0] == names[1]
    return one.labels is not None and other.labels is not None and np.array_equal(one.labels, other.labels)


def leave_out_broken_pairs(one: Images, other: Images, places: Indices) -> list[str]:
    """Read the pairs at these places, leave out of both sets those that either cannot read, and return their files."""
    if not (isinstance(one, FolderImages) and isinstance(other, FolderImages)):
        return []
    for first in range(0, len(places), AT_ONCE):
        for side in (one, other):
            side.fetch(places[first : first + AT_ONCE])
    broken = [place for place in places.tolist() if place in one.unreadable or place in other.unreadable]
    if len(broken) == len(places):
        raise ValueError(f"{one.name} and {other.name}: of no pair of images can both be read; nothing to compare")
    for place in broken:
        for side in (one, other):
            side.unreadable.setdefault(place, PARTNER)
    return [one.where(place) for place in sorted(broken)]
