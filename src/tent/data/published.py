"""What is known of a published set: its files, its counts, how it is opened and how it is laid out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tent.data.images import Images

Progress = Callable[[str, int, int | None], None]  # what is being done, how far, of how much
Layout = Callable[[Mapping[str, Path], Path, Progress], None]  # published files -> a folder


def silent(what: str, done: int, total: int | None) -> None:
    """Report to nobody."""


@dataclass(frozen=True)
class File:
    """One file as it was published."""

    name: str
    url: str | None  # None: there is no open link; the user brings it
    gives: tuple[str, ...]  # the pieces of the set (splits, types, versions) that need it
    bytes: int | None = None
    md5: str | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Set:
    """One published set, and the functions that know its form."""

    name: str
    title: str
    folder: str  # under the root
    classes: int
    splits: Mapping[str, int]  # the images of each, as published
    open: Callable[["Set", Path, str, dict[str, Any]], Images]
    there: Callable[[Path], list[str]]  # the pieces that lie in its folder; one made here is marked as such
    layout: Layout | None = None
    files: tuple[File, ...] = ()
    class_names: tuple[str, ...] | None = None
    published_as: tuple[str, ...] = ()  # other names that its folder goes by
    made_from: str | None = None  # the set that `tent data make` makes it from
    terms: str = ""

    def path(self, root: Path) -> Path:
        """Return the set's folder under a root: the one there is, under whichever of its names."""
        for name in (self.folder, *self.published_as):
            if (root / name).is_dir():
                return root / name
        return root / self.folder

    @property
    def hint(self) -> str:
        """What to do when some of it is missing."""
        make = f" or make it with: tent data make {self.name}" if self.made_from else ""
        return f"get it with: tent data get {self.name}{make}"

    @property
    def bytes(self) -> int | None:
        """The bytes to be fetched, where all are known."""
        sizes = [file.bytes for file in self.files]
        return None if not sizes or None in sizes else sum(size or 0 for size in sizes)

    @property
    def pieces(self) -> tuple[str, ...]:
        """The pieces that its published files give."""
        return tuple(dict.fromkeys(piece for file in self.files for piece in file.gives))

    def needed(self, only: Sequence[str]) -> tuple[str, ...]:
        """Return the pieces asked for: those named, or all."""
        if strange := [piece for piece in only if piece not in self.pieces]:
            raise ValueError(f"{self.name} has no {strange[0]!r}; choose from {', '.join(self.pieces)}")
        return tuple(only) or self.pieces
