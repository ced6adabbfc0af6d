"""Cases: one run each, described by everything that decides its numbers, and named by the hash of that.

The JSON form leaves out what is at its default. A new field with a default keeps every name that was ever given; a
changed default, or a field that is renamed, would orphan all results on record.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, cast

from tent import methods
from tent.bench.frozen_json import Frozen, canonical_json, check_types, freeze, to_plain
from tent.data import order
from tent.method import Method
from tent.tasks import TASKS, Task
from tent.tasks.oracle import Oracle

METHODS: dict[str, type[Method]] = {**methods.METHODS, "oracle": Oracle}  # the library's, and a bound for them
WHEN = ("online", "offline")
RESET = ("never", "domain", "batch")
DOMAINS = re.compile(r"sequence|mixed|recurring:[1-9]\d*")
USER_FILE = re.compile(r"(.+\.py):\w+")  # a model or a method of the user's own


class OtherVersionError(ValueError):
    """A case has a field or a method that this version does not know."""


def find_method(name: str) -> type[Method]:
    """Return the class of a method that a case may name."""
    return METHODS[name] if name in METHODS else methods.find(name)


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
        if isinstance(self.part, list):
            object.__setattr__(self, "part", tuple(self.part))
        check_types(self)
        if self.part is not None and not 0 <= self.part[0] < self.part[1]:
            raise ValueError(f"part {self.part}: give the first image and the one after the last")

    @property
    def label(self) -> str:
        """The domain in a few words, without what is at its default."""
        split = None if self.split == "test" else self.split
        size = None if self.size is None else f"{self.size}x{self.size}"
        words = (self.name, split, self.corruption, self.severity, self.part, size)
        return " ".join(str(each) for each in words if each is not None)

    def to_json(self) -> dict[str, Any]:
        """Return the plain form, without what is at its default."""
        return _plain_form(self)


@dataclass(frozen=True)
class Case:
    """One run, and everything that decides its numbers."""

    model: str  # a name of the zoo
    data: tuple[Data, ...]  # the stream's domains
    method: str  # a name in METHODS, or FILE.py:Class
    options: Mapping[str, Any] = field(default_factory=Frozen)  # the method's own
    select: str | None = None  # None, here and below: the method's own choice
    stats: str | None = None
    optimizer: str | None = None
    lr: float | None = None
    momentum: float | None = None
    steps: int = 1
    answers: str | None = None
    when: str = "online"
    epochs: int = 1  # online: passes without a reset, the last of which is counted; offline: passes before the answers
    fit: Data | None = None  # learn from this, offline, and answer on `data`
    prepare: Data | None = None  # source images, shown once to a method that needs them, before the stream
    batch_size: int = 128
    seed: int = 0
    images: int | None = None  # the first so many of each domain's order
    order: str = "shuffled"  # or stored, sorted (by class), correlated:CONCENTRATION
    domains: str = "sequence"  # or mixed, recurring:TIMES
    reset: str = "never"  # or before every domain, before every batch
    pace: float | None = None  # forward passes that the stream leaves for a batch; None: it waits
    task: str = "classification"  # a name in tent.tasks.TASKS
    choose: Mapping[str, str] = field(default_factory=Frozen)  # options still to be chosen, each by a suite's rule
    weights: str = ""  # pinned when it is run: the fingerprint of the model
    code: Mapping[str, str] = field(default_factory=Frozen)  # and the hashes of the user's own files, by what they hold

    def __post_init__(self) -> None:
        for name in ("options", "choose", "code"):
            if isinstance(given := getattr(self, name), Mapping):
                object.__setattr__(self, name, freeze(given))
        if isinstance(self.data, Data | list):
            object.__setattr__(self, "data", tuple(self.data) if isinstance(self.data, list) else (self.data,))
        check_types(self)
        _check_words(self)
        _check_numbers(self)

    def to_json(self) -> dict[str, Any]:
        """Return the plain form, without what is at its default."""
        return _plain_form(self)

    @staticmethod
    def from_json(read: Mapping[str, Any]) -> "Case":
        """Return the case of a plain form; an OtherVersionError says what of it is unknown."""
        _check_version(read)
        others = {name: Data(**read[name]) for name in ("fit", "prepare") if read.get(name) is not None}
        return Case(**{**read, "data": tuple(Data(**each) for each in read["data"]), **others})

    def key(self) -> str:
        """Return the hash that names this case, the same in every process."""
        return self._key

    @cached_property
    def _key(self) -> str:  # computed once: reading a table asks for it many times
        return hashlib.sha256(canonical_json(self.to_json()).encode()).hexdigest()

    def pin(self, weights: str, digest: Callable[[Data], str], code: Mapping[str, str] | None = None) -> "Case":
        """Return the case tied to the hashes of its model, of all its data, and of the user's files."""
        data = tuple(replace(each, sha256=digest(each)) for each in self.data)
        others: dict[str, Any] = {name: replace(own, sha256=digest(own)) for name, own in self.other_data.items()}
        return replace(self, weights=weights, data=data, code=code or {}, **others)

    def unpin(self) -> "Case":
        """Return the case as a suite names it: without hashes."""
        return self.pin("", lambda data: "")

    def decide(self, option: str, value: Any) -> "Case":
        """Return the case with an option that has been chosen."""
        left = {name: rule for name, rule in self.choose.items() if name != option}
        return replace(self, options={**self.options, option: value}, choose=left)

    def undecide(self, rules: Mapping[str, str]) -> "Case":
        """Return the case with these options left to the rules that chose them."""
        options = {name: value for name, value in self.options.items() if name not in rules}
        return replace(self, options=options, choose={**self.choose, **rules})

    @property
    def other_data(self) -> dict[str, Data]:
        """The data that it looks at beside the stream, by the name of its field."""
        named = {"fit": self.fit, "prepare": self.prepare}
        return {name: data for name, data in named.items() if data is not None}

    @property
    def task_type(self) -> type[Task]:
        """The class of its task, which knows the primary metric and its direction."""
        return cast("type[Task]", TASKS[self.task])

    @property
    def draws_images(self) -> bool:
        """Whether the seed decides which images are streamed, and not their order alone."""
        return self.images is not None or any(each.part for each in self.data)

    @property
    def files(self) -> dict[str, str]:
        """The user's own files that the case names, by what is in them."""
        found = {what: USER_FILE.fullmatch(getattr(self, what)) for what in ("model", "method")}
        return {what: match[1] for what, match in found.items() if match}


def _plain_form(described: Data | Case) -> dict[str, Any]:
    form: dict[str, Any] = {}
    for each in fields(described):
        value = getattr(described, each.name)
        default = each.default if each.default_factory is MISSING else each.default_factory()
        if value != default:
            form[each.name] = _plain_value(value)
    return form


def _plain_value(value: Any) -> Any:
    if isinstance(value, Data):
        return value.to_json()
    return [_plain_value(each) for each in value] if isinstance(value, tuple) else to_plain(value)


def _check_version(read: Mapping[str, Any]) -> None:
    for kind, forms in ((Case, [read]), (Data, [*read["data"], read.get("fit"), read.get("prepare")])):
        names = {each.name for each in fields(kind)}
        if unknown := sorted({name for form in forms if isinstance(form, Mapping) for name in form} - names):
            raise OtherVersionError(f"its case has an unknown {unknown[0]}")
    if isinstance(method := read["method"], str) and method not in METHODS and not USER_FILE.fullmatch(method):
        raise OtherVersionError(f"no method {method!r}")


def _check_words(case: Case) -> None:
    if case.method not in METHODS and "method" not in case.files:
        raise ValueError(f"no method {case.method!r}; there are {', '.join(METHODS)}, and FILE.py:Class for your own")
    for name, words in (("when", WHEN), ("reset", RESET), ("task", TASKS)):
        if getattr(case, name) not in words:
            raise ValueError(f"{name} {getattr(case, name)!r}: choose from {', '.join(words)}")
    order.by_name(case.order)
    if not DOMAINS.fullmatch(case.domains):
        raise ValueError(f"domains {case.domains!r}: choose from sequence, mixed, recurring:TIMES")
    if case.fit is not None and case.when != "offline":
        raise ValueError(f"a case that learns from other data than it answers on is offline, not {case.when}")
    if case.reset != "never" and case.when == "offline":
        raise ValueError(f"reset {case.reset!r}: an offline case learns everything before it answers; use never")
    if case.pace is not None and (case.when == "offline" or case.epochs != 1):
        raise ValueError(f"pace {case.pace}: a stream that does not wait is answered online, in one pass")
    if case.reset == "batch" and case.epochs != 1:
        raise ValueError(f"epochs {case.epochs}: a case that is reset before every batch makes one pass")


def _check_numbers(case: Case) -> None:
    if not case.data:
        raise ValueError("data: give at least one domain")
    for name in ("epochs", "steps", "batch_size"):
        if getattr(case, name) < 1:
            raise ValueError(f"{name} {getattr(case, name)}: give 1 or more")
    if case.pace is not None and not case.pace > 0:
        raise ValueError(f"pace {case.pace}: give a number above 0, such as 1, or None for a stream that waits")
    if case.order != "shuffled" and any(each.part for each in (*case.data, case.fit) if each):
        raise ValueError(f"order {case.order!r}: a part of a set is taken, and comes, in its shuffled order")
    if case.images is not None and case.images < 1:
        raise ValueError(f"images {case.images}: give 1 or more, or None for all")
