"""What is known of a published set: its files, its counts, its format on disk and how it is laid out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tent.data.sets.images import Images

Progress = Callable[[str, int, int | None], None]  # what is being done, how far, of how much
Layout = Callable[[Mapping[str, Path], Path, Progress], None]  # published files -> a folder
TEST_SPLITS = ("test", "val", "validation")  # names for the split that one is judged on


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
class Format:
    """How a set lies on disk."""

    open: Callable[..., Images]  # of the set, its folder, the split's own name and the options
    list: Callable[[Path], list[str]]  # the pieces that lie in a folder; one made here is marked as such
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Set:
    """One published set."""

    name: str
    title: str
    classes: int
    splits: Mapping[str, int]  # the images of each, as published
    format: Format
    layout: Layout | None = None
    files: tuple[File, ...] = ()
    class_names: tuple[str, ...] | None = None
    published_as: tuple[str, ...] = ()  # other names that its folder goes by
    made_from: str | None = None  # the set that `tent data make` makes it from
    terms: str = ""
    folder: str = ""  # in the data folder; the set's name unless given

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", self.folder or self.name)

    def path(self, root: Path) -> Path:
        """Return the set's folder under a root: the one there is, under whichever of its names."""
        names = (self.folder, *self.published_as)
        return next((root / name for name in names if (root / name).is_dir()), root / names[0])

    def open(self, root: Path, split: str, **options: Any) -> Images:
        """Open one split; "test" is the one that the set is judged on, whatever it is called there."""
        own = self.split_name(split)
        if strange := sorted(set(options) - set(self.format.options)):
            raise ValueError(f"{self.name} has no option {', '.join(strange)}")
        return self.format.open(self, self.path(root), own, **options)

    def split_name(self, split: str) -> str:
        """Return what the set itself calls a split."""
        others = [name for name in self.splits if {name, split} <= set(TEST_SPLITS)]
        own = [split] if split in self.splits else others
        if not own:
            raise ValueError(f"{self.name} has no split {split!r}; choose from {', '.join(self.splits)}")
        return own[0]

    def pieces_in(self, folder: Path) -> list[str]:
        """Return the pieces that lie in a folder, told from names alone; one made here is marked as such."""
        return self.format.list(folder)

    @property
    def hint(self) -> str:
        """What to do when some of it is missing."""
        if not self.files and not self.made_from:
            return f"bring it by hand: {self.terms}"
        if not self.files:
            return f"make it with: tent data make {self.name}"
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

    def select_pieces(self, only: Sequence[str]) -> tuple[str, ...]:
        """Return the pieces that are named, or all."""
        if strange := [piece for piece in only if piece not in self.pieces]:
            raise ValueError(f"{self.name} has no {strange[0]!r}; choose from {', '.join(self.pieces)}")
        return tuple(only) or self.pieces
