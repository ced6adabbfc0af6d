"""Pairs of a shifted image and its clean original: which sets are such, and those of which both can be read."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tent.data.order import Indices
from tent.data.sets.folders import FolderImages
from tent.data.sets.images import Images

PARTNER = "its partner in another set cannot be read"
NAMED = 3  # files that a line names
AT_ONCE = 64  # images in memory


def are_pairs(one: Images, other: Images, related: bool = False) -> bool:
    """Tell whether two sets are known to show the same images in the same order.

    Args:
        related: whether one set is made from the other, so that equal labels mean equal images; files go by name.
    """
    if isinstance(one, FolderImages) or isinstance(other, FolderImages):
        names = [[Path(file).with_suffix("") for file in getattr(each, "files", ())] for each in (one, other)]
        return names[0] == names[1]
    known = one.labels is not None and other.labels is not None
    return related and known and np.array_equal(one.labels, other.labels)  # type: ignore[arg-type]


def find_mismatch(one: Images, other: Images, related: bool, claimed: bool) -> str | None:
    """Return why two sets are not taken for pairs, and how to say that they are; None if they are.

    Args:
        claimed: whether the user says that rows are pairs.
    """
    files = isinstance(one, FolderImages) or isinstance(other, FolderImages)
    if claimed and files:
        raise ValueError("--paired is of the rows of arrays; files are pairs by their names, so leave it out")
    if claimed and len(one) != len(other):
        sizes = f"{one.name} has {len(one):,} images and {other.name} {len(other):,}"
        raise ValueError(f"--paired: {sizes}; row i of both must show the same image")
    if claimed or are_pairs(one, other, related):
        return None
    remedy = (
        "give both as folders of the same file names" if files else "pass --paired if row i of both is the same image"
    )
    what = f"{one.name} and {other.name} are not known to show the same images"
    return f"features are without CKA to clean: {what}; {remedy}"


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


def describe_broken(files: Sequence[str], pairs: int) -> str:
    """Say in one line which pairs are left out."""
    few = f"{len(files):,} of {pairs:,} pairs, of which one image cannot be read"
    return f"features are without {few}: {', '.join(files[:NAMED])}{' ...' if files[NAMED:] else ''}"
