"""An analysis: a model, data and figures in, a folder of pictures and of their numbers out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tent.adapted import Adapted
from tent.analysis import FIGURES, Collector, Confusion, Domain, Numbers, analyse, compare_features, draw
from tent.analysis.baselines import adapt_with_baselines
from tent.analysis.features.feature_shift import add_oracle, choose_domain, find_pass_mismatch, list_layers
from tent.analysis.features.image_pairs import describe_broken, find_mismatch, leave_out_broken_pairs
from tent.analysis.left_out import list_left_out
from tent.analysis.run_words import describe_models, make_title, short_name
from tent.apps.adapt import load_model
from tent.apps.adapt_run import Notices, probe
from tent.apps.class_runs import describe_runs
from tent.apps.run_data import DataChoice, describe_unreadable, list_unreadable
from tent.data import Stream
from tent.data.corruptions import BENCHMARK
from tent.data.sets.catalog import find_set
from tent.data.sets.images import Images
from tent.environment import choose_device, provenance
from tent.evaluate import Track
from tent.files import check_folder
from tent.method import Method
from tent.methods import with_pixels
from tent.models.entry import Entry
from tent.models.own_preprocess import PreprocessChoice
from tent.norm import Stats
from tent.plotting import has_matplotlib
from tent.select import norm_affine

FEATURES, ORIGINAL = "features", "original"
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
    paired: bool = False  # whether row i of the data and of the original data show the same image
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
        if self.layers == ():
            raise ValueError("--layers names no layer; give a number of norm layers, or names with commas")
        if self.paired and self.clean is None:
            raise ValueError("--paired is of the data and of --clean; pass --clean too, or leave --paired out")
        check_folder(self.out)
        choose_device(self.device)

    def run(self, track: Track | None, say: Callable[[str], None] = lambda line: None) -> dict[str, list[Path]]:
        """Run the model, write every figure with its numbers, and return the files by figure."""
        notices = Notices(say)
        if not has_matplotlib():
            notices.add("pictures are left out, and numbers written; for pictures: pip install 'tent-tta[bench]'")
        entry, images, streams = self._load(notices)
        models = self._models(entry, note=notices.add)
        chosen = self._choose(entry, models, images, streams, notices)
        figures = [_make(name, entry) for name in chosen if name != FEATURES]
        found = analyse(models, streams, figures, track, epochs=self.epochs) if figures else {}
        self._note_unreadable(images, notices)
        words = describe_models(models, streams, self.data.name, self.epochs)
        files = self._write(found, entry, streams, words, notices)  # before features, whose failure then costs nothing
        return files | self._features(entry, images, streams, track, notices) if FEATURES in chosen else files

    def _load(self, notices: Notices) -> tuple[Entry, dict[Domain, Images], dict[Domain, Stream]]:
        """Return the model, and the images and stream of every domain, after a look at whether they fit each other."""
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
        labels = {domain: own.labels for domain, own in images.items() if own.labels is not None}
        if runs := describe_runs({domain.name: own[streams[domain].indices] for domain, own in labels.items()}):
            notices.add(runs)
        return entry, images, streams

    def _open(self, notices: Notices) -> dict[Domain, Images]:
        """Return the images of every type and level, or the data as they are, and the original data first."""
        opened = {}
        if (clean := self._open_clean(notices)) is not None:
            opened[Domain(ORIGINAL, level=0, original=True)] = clean
        if not self._has_types:
            own, name = self.data.open(), short_name(self.data.name)
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
        self,
        entry: Entry,
        models: Mapping[str, Adapted],
        images: Mapping[Domain, Images],
        streams: Mapping[Domain, Stream],
        notices: Notices,
    ) -> tuple[str, ...]:
        """Return the figures that are asked for, or all that can be drawn; nothing is run before that is known."""
        reasons = list_left_out(models, streams, type(self.method).__name__)
        if FEATURES in (self.figures or NAMES) and (reason := self._check_features(entry, streams)):
            reasons[FEATURES] = reason
        for name, reason in reasons.items():
            if name in self.figures:
                raise ValueError(f"{name}: {reason}")
            if not self.figures:
                notices.add(f"left out: {name} {reason}")
        chosen = self.figures or tuple(name for name in NAMES if name not in reasons)
        if FEATURES in chosen and (mismatch := self._find_mismatch(images)):
            notices.add(mismatch)
        return chosen

    def _check_features(self, entry: Entry, streams: Mapping[Domain, Stream]) -> str | None:
        """Return why features cannot be compared, if so; refuse layers that are not there."""
        if not any(domain.original for domain in streams):
            return "compares with original data; pass --clean FOLDER_OR_SET"
        if isinstance(self.layers, int) and self.layers > 0 and not norm_affine(entry.model):
            return "are of norm layers, and the model has none; name others with --layers"
        shifted = streams[choose_domain(streams)]
        layers = list_layers(entry.model, shifted, self.layers)
        models = self._models(entry, lean=False)
        return find_pass_mismatch(entry.model, models, shifted, layers)

    def _find_mismatch(self, images: Mapping[Domain, Images]) -> str | None:
        """Return why the shifted images do not count as those of the original data, and what is left out then."""
        known = None if self.data.is_folder else find_set(self.data.name)
        related = known is not None and known.made_from is not None and self.clean in (None, known.made_from)
        clean = next(own for domain, own in images.items() if domain.original)
        return find_mismatch(images[choose_domain(images)], clean, related, self.paired)

    def _models(self, entry: Entry, **more: Any) -> dict[str, Adapted]:
        method = with_pixels(self.method, entry.preprocess.mean, entry.preprocess.std)
        return adapt_with_baselines(entry.model, method, self.stats, self.lr, **more)

    def _features(
        self,
        entry: Entry,
        images: Mapping[Domain, Images],
        streams: Mapping[Domain, Stream],
        track: Track | None,
        notices: Notices,
    ) -> dict[str, list[Path]]:
        """Compare features on the first type at its highest level, and write them with their own protocol."""
        clean, worst = next(domain for domain in streams if domain.original), choose_domain(streams)
        places = streams[worst].indices
        paired = self._find_mismatch(images) is None and np.array_equal(places, streams[clean].indices)
        if paired and (broken := leave_out_broken_pairs(images[worst], images[clean], places)):
            notices.add(describe_broken(broken, len(places)))
        models = self._models(entry, lean=False)
        models = add_oracle(entry.model, models, streams[worst], self.lr)
        both, own = (streams[worst], streams[clean]), dict[str, Any](paired=paired, epochs=self.epochs, track=track)
        found = compare_features(entry.model, models, *both, self.layers, **own)
        self._note_unreadable(images, notices)
        words = describe_models(models, {worst: streams[worst]}, self.data.name, self.epochs)
        return self._write({FEATURES: found}, entry, dict(zip((worst, clean), both, strict=True)), words, notices)

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
        title, files = make_title(entry.name, self.data.name, streams, self.epochs, self.lr), {}
        for name, numbers in found.items():
            for note in numbers.notes:
                notices.say(f"{name}: {note}")
            files[name] = numbers.save(self.out, **about)
            if has_matplotlib():
                files[name] += draw(numbers, self.out, _feature_title(entry, numbers) if name == FEATURES else title)
        return files

    @cached_property
    def _has_types(self) -> bool:
        known = None if self.data.is_folder else find_set(self.data.name)
        return known is not None and "corruption" in known.format.options


def _make(name: str, entry: Entry) -> Collector:
    return Confusion(entry.class_names) if name == Confusion.name else FIGURES[name]()


def _feature_title(entry: Entry, numbers: Numbers) -> str:
    return f"{entry.name} on {numbers.summary['shifted']}: features by layer"
