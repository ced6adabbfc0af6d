"""The target of a training: which unlabelled images its word names, and what its error is measured on."""

import os
from dataclasses import dataclass
from typing import Any

from tent.data import Images, load
from tent.data.data_folder import data_folder
from tent.data.make import make
from tent.data.sets.catalog import get_set
from tent.data.sets.formats import SEVERITIES

KINDS = ("folder", "npy", "torchvision", "hf")  # what may stand before a colon and is no set


@dataclass(frozen=True)
class Target:
    """Images by a word: `SET`, `SET:SPLIT`, for a corrupted set `SET:TYPE[:SEVERITY][:train]`, or what `load` knows."""

    name: str
    split: str = "train"
    type: str = ""  # of a corrupted set
    severity: int = SEVERITIES

    @classmethod
    def parse(cls, word: str) -> "Target":
        """Read a word."""
        name, *rest = word.split(":")
        if name in KINDS:
            return cls(word)
        known = get_set(name)
        if "corruption" not in known.format.options:
            if len(rest) > 1 or not all(rest):
                raise ValueError(f"{word!r}: write {known.name}, or {known.name}:test for its test split")
            return cls(known.name, rest[0] if rest else "train")
        *rest, split = rest if rest[-1:] in (["train"], ["test"]) else (*rest, "test")
        severity = rest[1] if len(rest) == 2 else str(SEVERITIES)
        if len(rest) not in (1, 2) or not all(rest) or not severity.isdecimal():
            raise ValueError(
                f"{word!r}: write {known.name}:TYPE or {known.name}:TYPE:SEVERITY, as in {known.name}:fog:5,"
                f" or {known.name}:fog:5:train for corrupted training images"
            )
        return cls(known.name, split, rest[0], int(severity))

    @property
    def word(self) -> str:
        """The word that names it, in one way only."""
        if self.type:
            return f"{self.name}:{self.type}:{self.severity}" + ("" if self.split == "test" else f":{self.split}")
        return self.name if self.split == "train" else f"{self.name}:{self.split}"

    def open(self, root: str | os.PathLike[str] | None = None) -> Images:
        """Open the images that are learnt from, made first if need be; labels they have are not for learning."""
        if self.type and self.split == "train":
            make(get_set(self.name), data_folder(root), [self.type], [self.severity], split="train")
        return load(self.name, self.split, root, **self._options)

    def open_test(self, root: str | os.PathLike[str] | None = None) -> Images:
        """Open the images that its error is measured on: its test split, or the same ones where it has but one."""
        return load(self.name, "test", root, **self._options)

    def describe(self, images: Images) -> str:
        """Return what a card calls it."""
        if self.name.partition(":")[0] in KINDS:
            return images.name
        return " ".join([self.name, *([self.type, str(self.severity)] if self.type else []), self.split])

    @property
    def _options(self) -> dict[str, Any]:
        return {"corruption": self.type, "severity": self.severity} if self.type else {}
