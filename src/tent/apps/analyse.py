"""An analysis: a model, data and figures in, a folder of pictures and of their numbers out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tent.adapted import Adapted, adapt
from tent.analysis import FIGURES, Confusion, Domain, Figure, Numbers, analyse, compare_features, draw
from tent.analysis.features.capture import choose_layers, find_layers
from tent.apps.adapt import load_model
from tent.apps.adapt_run import Notices, count_classes
from tent.apps.run_data import DataChoice
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

FEATURES = "features"
NAMES = (*FIGURES, FEATURES)
LEVELS = (1, 2, 3, 4, 5)


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
        if FEATURES in self.figures and not isinstance(self.layers, int):
            find_layers(entry.model, self.layers)  # before the hours that the rest may take
        streams = self._streams(entry, notices)
        chosen = self._choose(streams, notices)
        models = self._models(entry, notices)
        figures = [_make(name, entry) for name in chosen if name != FEATURES]
        found = analyse(models, streams, figures, track) if figures else {}
        if FEATURES in chosen:
            found[FEATURES] = self._features(entry, streams, track)
        last = next(stream for domain, stream in streams.items() if not domain.original)
        words = {name: protocol(model, last, reset="domain") for name, model in models.items()}
        return self._write(found, entry, streams, words, notices)

    def _streams(self, entry: Entry, notices: Notices) -> dict[Domain, Stream]:
        """Return a stream for every type and level, or for the data as they are, and one of the original data."""
        wanted = {Domain(Path(self.data.name).name): self.data}
        if self._has_types:
            types, levels = self.corruptions or tuple(BENCHMARK), self.severities or LEVELS
            wanted = {
                Domain(f"{kind} {level}", kind, level): replace(
                    self.data, options={"corruption": kind, "severity": level}
                )
                for kind in types
                for level in levels
            }
        opened = {domain: choice.open() for domain, choice in wanted.items()}
        clean = self._open_clean(notices)
        if clean is not None:
            opened = {Domain("original", level=0, original=True): clean, **opened}
        classes = count_classes(entry, next(iter(opened.values())), self.model)
        return {domain: self._stream(images, entry, classes) for domain, images in opened.items()}

    def _stream(self, images: Images, entry: Entry, classes: int) -> Stream:
        entry = self.data.name_classes(entry, images, classes)
        self.data.match_labels(images, entry, classes)
        return self.data.stream(images, entry, self.batch)

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

    def _choose(self, streams: Mapping[Domain, Stream], notices: Notices) -> tuple[str, ...]:
        """Return the figures that are asked for, or all that can be drawn of the data."""
        labelled = all(stream.labelled for stream in streams.values())
        clean = any(domain.original for domain in streams)
        reasons = {name: "needs labels, and the data have none" for name, kind in FIGURES.items() if kind.needs_labels}
        reasons = {} if labelled else reasons
        if not clean:
            reasons[FEATURES] = "compares with original data; pass --clean FOLDER_OR_SET"
        if isinstance(self.method, BN | Source):
            reasons["movement"] = f"nothing moves under {type(self.method).__name__}"
        for name, reason in reasons.items():
            if name in self.figures:
                raise ValueError(f"{name}: {reason}")
            if not self.figures:
                notices.add(f"left out: {name} {reason}")
        return self.figures or tuple(name for name in NAMES if name not in reasons)

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

    def _features(self, entry: Entry, streams: Mapping[Domain, Stream], track: Track | None) -> Numbers:
        """Compare features on the first type at its highest level, as the paper does on Gaussian noise."""
        shifted = [domain for domain in streams if not domain.original]
        first = [domain for domain in shifted if domain.type == shifted[0].type]
        dark, light = streams[first[-1]], next(stream for domain, stream in streams.items() if domain.original)
        layers = choose_layers(entry.model, self.layers) if isinstance(self.layers, int) else self.layers
        models = self._models(entry, Notices(lambda line: None), lean=False)
        return compare_features(
            entry.model, models, dark, light, layers, paired=_are_pairs(dark, light), lr=self.lr, track=track
        )

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
                files[name] += draw(numbers, self.out, title)
        return files

    def _title(self, entry: Entry, streams: Mapping[Domain, Stream]) -> str:
        shifted = {domain: stream for domain, stream in streams.items() if not domain.original}
        first = next(iter(shifted))
        types, levels = {domain.type for domain in shifted}, sorted({domain.level or 0 for domain in shifted})
        what = f"{len(types)} types × {len(levels)} levels" if len(shifted) > 1 else first.name
        images = next(iter(shifted.values())).total
        rate = f", rate {self.lr:g}" if self.lr is not None else ""
        each = f"{images:,} images{' each' if len(shifted) > 1 else ''}, online{rate}"
        return f"{entry.name} on {Path(self.data.name).name}: {what}, {each}"

    @cached_property
    def _has_types(self) -> bool:
        known = None if self.data.is_folder else find_set(self.data.name)
        return known is not None and "corruption" in known.format.options


def _make(name: str, entry: Entry) -> Figure:
    return Confusion(entry.class_names) if name == Confusion.name else FIGURES[name]()


def _are_pairs(dark: Stream, light: Stream) -> bool:
    """Tell whether two streams are the same images in the same order, as far as their places and labels tell."""
    if dark.total != light.total or not np.array_equal(dark.indices, light.indices):
        return False
    one, other = (np.concatenate([np.asarray(batch.labels) for batch in stream]) for stream in (dark, light))
    return np.array_equal(one, other)
