"""An analysis: a model, data and figures in, a folder of pictures and of their numbers out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tent.adapted import Adapted, adapt
from tent.analysis import FIGURES, Collector, Confusion, Domain, Numbers, analyse, compare_features, draw
from tent.analysis.features.capture import choose_layers, find_layers
from tent.analysis.features.image_pairs import are_pairs, leave_out_broken_pairs
from tent.apps.adapt import load_model
from tent.apps.adapt_run import Notices, probe
from tent.apps.class_runs import ClassRuns
from tent.apps.run_data import DataChoice, describe_unreadable, list_unreadable
from tent.data import Stream
from tent.data.corruptions import BENCHMARK
from tent.data.sets.catalog import find_set
from tent.data.sets.images import Images
from tent.environment import choose_device, provenance
from tent.evaluate import Track, protocol
from tent.files import check_folder
from tent.method import Method
from tent.methods import BN, Source, with_pixels
from tent.models.entry import Entry
from tent.models.own_preprocess import PreprocessChoice
from tent.norm import Stats
from tent.plotting import has_matplotlib
from tent.select import norm_affine

FEATURES, ORIGINAL = "features", "original"
NAMES = (*FIGURES, FEATURES)
LEVELS = (1, 2, 3, 4, 5)
NAMED = 3  # files that a line names


@dataclass(frozen=True)
class Analysis:
    """Which figures, of which model on which data; checked before anything is loaded."""

    model: str
    data: DataChoice
    method: Method
    out: Path
    figures: tuple[str, ...] = ()  # none: all that the data allow
    corruptions: tuple[str, ...] = ()  # of a set such as cifar10-c; none: the benchmark's fifteen
    severities: tuple[int, ...] = ()  # none: all five
    clean: str | None = None  # the original data; None: what a known set was made from
    layers: tuple[str, ...] | int = 9
    batch: int = 128
    epochs: int = 0  # 0: online; else offline, with so many passes over each type and level before it is answered
    lr: float | None = None
    stats: Stats | None = None
    weights: Path | None = None
    preprocess: PreprocessChoice = PreprocessChoice()  # noqa: RUF009 (frozen)
    like: str | None = None
    device: str | None = None

    def __post_init__(self) -> None:
        if strange := [name for name in self.figures if name not in NAMES]:
            raise ValueError(f"no figure is called {strange[0]!r}; there are {', '.join(NAMES)}")
        if "source data" in self.method.needs:
            raise ValueError(f"{self.method!r} needs source data, which an analysis does not show it")
        if (self.corruptions or self.severities) and not self._has_types:
            raise ValueError(f"{self.data.name} has no types of corruption; leave out --corruption and --severity")
        check_folder(self.out)
        choose_device(self.device)

    def run(self, track: Track | None, say: Callable[[str], None] = lambda line: None) -> dict[str, list[Path]]:
        """Run the model, write every figure with its numbers, and return the files by figure."""
        notices = Notices(say)
        entry = load_model(self.model, self.weights, self.preprocess, self.like, self.device, notices)
        images = self._open(notices)
        shown = next(own for domain, own in images.items() if not domain.original)
        classes, pixels = probe(entry, shown, self.model)
        for own in (own for domain, own in images.items() if domain.original):
            probe(entry, own, self.model)  # what cannot be read or answered is said before the work
        if pixels:
            raise ValueError(f"{entry.name} answers for every pixel; figures are of models with one class an image")
        entry = self.data.name_classes(entry, shown, classes)
        for own in images.values():
            self.data.match_labels(own, entry, classes)
        streams = {domain: self.data.stream(own, entry, self.batch) for domain, own in images.items()}
        self._note_runs(images, streams, notices)
        models = self._models(entry, notices)
        chosen = self._choose(entry, models, streams, notices)
        figures = [_make(name, entry) for name in chosen if name != FEATURES]
        found = analyse(models, streams, figures, track, epochs=self.epochs) if figures else {}
        if FEATURES in chosen:
            found[FEATURES] = self._features(entry, images, streams, track, notices)
        self._note_unreadable(images, notices)
        last = next(stream for domain, stream in streams.items() if not domain.original)
        when: dict[str, Any] = {"offline": True, "epochs": self.epochs} if self.epochs else {}
        words = {name: protocol(model, last, reset="domain", **when) for name, model in models.items()}
        return self._write(found, entry, streams, words, notices)

    def _open(self, notices: Notices) -> dict[Domain, Images]:
        """Return the images of every type and level, or the data as they are, and the original data first."""
        opened = {}
        if (clean := self._open_clean(notices)) is not None:
            opened[Domain(ORIGINAL, level=0, original=True)] = clean
        if not self._has_types:
            own, name = self.data.open(), Path(self.data.name.split(",")[0]).name
            return {**opened, Domain(own.name if name == ORIGINAL else name): own}
        for kind in self.corruptions or BENCHMARK:
            for level in self.severities or LEVELS:
                options = {"corruption": kind, "severity": level}
                opened[Domain(f"{kind} {level}", kind, level)] = replace(self.data, options=options).open()
        return opened

    def _open_clean(self, notices: Notices) -> Images | None:
        known = find_set(self.data.name) if self._has_types else None
        name = self.clean or (known.made_from if known else None)
        if name is None:
            return None
        try:
            return replace(self.data, name=name, options=None).open()
        except FileNotFoundError as missing:
            if self.clean:
                raise
            notices.add(f"figures are without the original data: {missing}")
            return None

    def _choose(
        self, entry: Entry, models: Mapping[str, Adapted], streams: Mapping[Domain, Stream], notices: Notices
    ) -> tuple[str, ...]:
        """Return the figures that are asked for, or all that can be drawn; nothing is run before that is known."""
        labelled = all(stream.labelled for domain, stream in streams.items() if not domain.original)
        clean = any(domain.original for domain in streams)
        reasons = {name: "needs labels, and the data have none" for name, kind in FIGURES.items() if kind.needs_labels}
        reasons = {} if labelled else reasons
        if not clean:
            reasons[FEATURES] = "compares with original data; pass --clean FOLDER_OR_SET"
        elif FEATURES in (self.figures or NAMES):
            reasons |= self._check_layers(entry)
        if not any(set(model.state.params) & set(model.state.source) for model in models.values()):
            reasons["movement"] = f"nothing moves under {type(self.method).__name__}"
        for name, reason in reasons.items():
            if name in self.figures:
                raise ValueError(f"{name}: {reason}")
            if not self.figures:
                notices.add(f"left out: {name} {reason}")
        return self.figures or tuple(name for name in NAMES if name not in reasons)

    def _check_layers(self, entry: Entry) -> dict[str, str]:
        """Return why features cannot be compared, if a model has no norm layers; refuse layers that are not there."""
        if not isinstance(self.layers, int):
            find_layers(entry.model, self.layers)
        elif self.layers < 1 or norm_affine(entry.model):
            choose_layers(entry.model, self.layers)
        else:
            return {FEATURES: "are of norm layers, and the model has none; name others with --layers"}
        return {}

    def _models(self, entry: Entry, notices: Notices, lean: bool = True) -> dict[str, Adapted]:
        """Return the source, BN where the model has statistics to change, and the method."""
        method = with_pixels(self.method, entry.preprocess.mean, entry.preprocess.std)
        models = {"Source": adapt(entry.model, Source(), lean=lean)}
        if not isinstance(method, BN | Source):
            try:
                models["BN"] = adapt(entry.model, BN(), stats=self.stats, lean=lean)
            except ValueError as nothing:
                notices.add(f"figures are without BN: {nothing}")
        if not isinstance(method, Source):
            models[type(method).__name__] = adapt(entry.model, method, stats=self.stats, lr=self.lr, lean=lean)
        return models

    def _features(
        self,
        entry: Entry,
        images: Mapping[Domain, Images],
        streams: Mapping[Domain, Stream],
        track: Track | None,
        notices: Notices,
    ) -> Numbers:
        """Compare features on the first type at its highest level, as the paper does on Gaussian noise."""
        clean, *shifted = sorted(streams, key=lambda domain: not domain.original)
        worst = max((domain for domain in shifted if domain.type == shifted[0].type), key=lambda each: each.level or 0)
        places, both = streams[worst].indices, (images[worst], images[clean])
        paired = np.array_equal(places, streams[clean].indices) and are_pairs(*both)
        if paired and (broken := leave_out_broken_pairs(*both, places)):
            few = f"{len(broken):,} of {len(places):,} pairs, of which one image cannot be read"
            notices.add(f"features are without {few}: {', '.join(broken[:NAMED])}{' ...' if broken[NAMED:] else ''}")
        models = self._models(entry, Notices(lambda line: None), lean=False)
        own: dict[str, Any] = {"paired": paired, "lr": self.lr, "epochs": self.epochs}
        return compare_features(entry.model, models, streams[worst], streams[clean], self.layers, **own, track=track)

    def _note_runs(self, images: Mapping[Domain, Images], streams: Mapping[Domain, Stream], notices: Notices) -> None:
        """Say so, once, if labels come in runs: figures of such a stream show what its order does to a model."""
        for domain, stream in streams.items():
            labels = images[domain].labels
            if labels is not None and (runs := ClassRuns(labels[stream.indices])).found:
                return notices.add(f"{domain.name}: {runs.warning}")

    def _note_unreadable(self, images: Mapping[Domain, Images], notices: Notices) -> None:
        for domain, own in images.items():
            if files := list_unreadable(own):
                notices.add(f"{domain.name}: {describe_unreadable(files)}")

    def _write(
        self,
        found: Mapping[str, Numbers],
        entry: Entry,
        streams: Mapping[Domain, Stream],
        words: Mapping[str, Mapping[str, str]],
        notices: Notices,
    ) -> dict[str, list[Path]]:
        self.out.mkdir(parents=True, exist_ok=True)
        about: dict[str, Any] = {
            "model": {"name": entry.name, "weights": entry.weights, "preprocessing": entry.preprocess.words},
            "domains": {domain.name: stream.total for domain, stream in streams.items()},
            "protocol": words,
            "warnings": notices.lines,
            "provenance": provenance(choose_device(self.device)),
        }
        title, files = self._title(entry, streams), {}
        for name, numbers in found.items():
            for note in numbers.notes:
                notices.say(f"{name}: {note}")
            files[name] = numbers.save(self.out, **about)
            if has_matplotlib():
                files[name] += draw(numbers, self.out, _feature_title(entry, numbers) if name == FEATURES else title)
        return files

    def _title(self, entry: Entry, streams: Mapping[Domain, Stream]) -> str:
        shifted = {domain: stream for domain, stream in streams.items() if not domain.original}
        first = next(iter(shifted))
        types, levels = {domain.type for domain in shifted}, sorted({domain.level or 0 for domain in shifted})
        what = f"{len(types)} types × {len(levels)} levels" if len(shifted) > 1 else first.name
        images = next(iter(shifted.values())).total
        rate = f", rate {self.lr:g}" if self.lr is not None else ""
        when = f"offline, {self.epochs} passes" if self.epochs > 1 else "offline, 1 pass" if self.epochs else "online"
        each = f"{images:,} images{' each' if len(shifted) > 1 else ''}, {when}{rate}"
        return f"{entry.name} on {Path(self.data.name).name}: {what}, {each}"

    @cached_property
    def _has_types(self) -> bool:
        known = None if self.data.is_folder else find_set(self.data.name)
        return known is not None and "corruption" in known.format.options


def _make(name: str, entry: Entry) -> Collector:
    return Confusion(entry.class_names) if name == Confusion.name else FIGURES[name]()


def _feature_title(entry: Entry, numbers: Numbers) -> str:
    return f"{entry.name} on {numbers.summary['shifted']}: features by layer"
