"""Cases: one run each, described by everything that decides its numbers, and named by the hash of that.

The JSON form leaves out what is at its default. A new field with a default keeps every name that was ever given; a
changed default, or a field that is renamed, would orphan all results on record.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from tent.bench.execute.methods import METHODS
from tent.bench.frozen import Frozen, canonical, plain

WHEN = ("online", "offline", "episodic")
CHOSEN = "chosen"  # in a note: how options were chosen, by the option's name
OUTCOME = "errors"  # in a choice: what was found; it is not there before


@dataclass(frozen=True)
class Data:
    """What is streamed."""

    name: str  # as in tent.data.load
    split: str = "test"
    corruption: str | None = None
    severity: int | None = None
    size: int | None = None  # resized to size x size before the model's own mean and deviation
    part: tuple[int, int] | None = None  # images [a, b) of the seed's shuffled order
    sha256: str = ""  # pinned when it is run

    def __post_init__(self) -> None:
        if self.part is not None:
            first, end = self.part
            if not 0 <= first < end:
                raise ValueError(f"part {self.part}: give the first image and the one after the last")
            object.__setattr__(self, "part", (first, end))

    def to_json(self) -> dict[str, Any]:
        """Return the plain form, without what is at its default."""
        return _written(self)

    @staticmethod
    def from_json(read: Mapping[str, Any]) -> "Data":
        """Return the data of a plain form."""
        return Data(**read)


@dataclass(frozen=True)
class Case:
    """One run, and everything that decides its numbers."""

    model: str  # a name of the zoo
    data: Data
    method: str  # a name in METHODS
    options: Mapping[str, Any] = field(default_factory=Frozen)  # the method's own
    select: str | None = None  # None, here and below: the method's own choice
    stats: str | None = None
    optimizer: str | None = None
    lr: float | None = None
    momentum: float | None = None
    steps: int = 1
    answers: str = "before"
    when: str = "online"
    epochs: int = 1  # online: passes without a reset, the last of which is counted; offline: passes before the answers
    fit: Data | None = None  # learn from this, offline, and answer on `data`
    batch_size: int = 128
    seed: int = 0
    images: int | None = None  # the first so many of the shuffled order
    note: Mapping[str, Any] = field(default_factory=Frozen)  # how an option was chosen: on what, from what, by what
    weights: str = ""  # pinned when it is run: the fingerprint of the model

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", Frozen(self.options))
        object.__setattr__(self, "note", Frozen(self.note))
        if self.method not in METHODS:
            raise ValueError(f"no method {self.method!r}; there are {', '.join(METHODS)}")
        if self.when not in WHEN:
            raise ValueError(f"when {self.when!r}: choose from {', '.join(WHEN)}")
        if self.fit is not None and self.when != "offline":
            raise ValueError(f"a case that learns from other data than it answers on is offline, not {self.when}")
        if self.when == "episodic" and self.epochs != 1:
            raise ValueError(f"epochs {self.epochs}: an episodic case forgets every batch, so one pass is all it makes")
        for name in ("epochs", "steps", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)}: give 1 or more")
        if self.images is not None and self.images < 1:
            raise ValueError(f"images {self.images}: give 1 or more, or None for all")

    def to_json(self) -> dict[str, Any]:
        """Return the plain form, without what is at its default."""
        return _written(self)

    @staticmethod
    def from_json(read: Mapping[str, Any]) -> "Case":
        """Return the case of a plain form."""
        data, fit = Data.from_json(read["data"]), read.get("fit")
        return Case(**{**read, "data": data, "fit": None if fit is None else Data.from_json(fit)})

    def key(self) -> str:
        """Return the hash that names this case, the same in every process."""
        return hashlib.sha256(canonical(self.to_json()).encode()).hexdigest()

    def pinned(self, weights: str, sha256: str, fit: str = "") -> "Case":
        """Return the case tied to the hashes of a model's state, of its data and of what it learns from."""
        learnt = None if self.fit is None else replace(self.fit, sha256=fit)
        return replace(self, weights=weights, data=replace(self.data, sha256=sha256), fit=learnt)

    def unpinned(self) -> "Case":
        """Return the case as a suite names it: without hashes, and with what was chosen by a rule not chosen yet."""
        chosen = self.note.get(CHOSEN, {})
        options = {name: value for name, value in self.options.items() if name not in chosen}
        open_ = {name: {k: v for k, v in how.items() if k != OUTCOME} for name, how in chosen.items()}
        note = {**self.note, CHOSEN: open_} if chosen else self.note
        return replace(self.pinned("", ""), options=options, note=note)

    @property
    def undecided(self) -> tuple[str, ...]:
        """The options that a rule has still to choose."""
        return tuple(name for name in self.note.get(CHOSEN, {}) if name not in self.options)


def _written(described: Data | Case) -> dict[str, Any]:
    empty = Data("") if isinstance(described, Data) else Case("", Data(""), "source")
    kept = {each.name: getattr(described, each.name) for each in fields(described)}
    required = ("name",) if isinstance(described, Data) else ("model", "data", "method")
    return {
        name: value.to_json() if isinstance(value, Data) else plain(value)
        for name, value in kept.items()
        if name in required or value != getattr(empty, name)
    }
