"""A practitioner's job: a model, data and choices in, a folder of results out."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tent.adapted import Adapted, adapt
from tent.apps.adaptation import Track, protocol, record
from tent.apps.exported import baked_to, format_of
from tent.apps.predictions import FORMATS, write_predictions
from tent.apps.run_plot import plot
from tent.data import Stream, load
from tent.data.images import Images
from tent.data.order import Shuffled, Stored
from tent.files import atomic_write
from tent.method import Answers, Method
from tent.models import zoo
from tent.models.entry import Entry
from tent.norm import Stats


@dataclass(frozen=True)
class Job:
    """What is adapted to what, and how; checked before anything is loaded."""

    model: str
    data: str
    method: Method
    out: Path
    stats: Stats | None = None  # None: the method's own
    epochs: int = 0  # 0: online
    episodic: bool = False
    steps: int = 1
    lr: float | None = None
    batch: int | None = None  # None: 128, or 1 where every image is for itself
    shuffle: int | None = None  # None: as stored
    limit: int | None = None
    options: Mapping[str, Any] | None = None  # what the set needs besides: corruption, severity
    weights: Path | None = None
    delta: Path | None = None
    bake: Path | None = None
    table: str = "csv"

    def __post_init__(self) -> None:
        if self.table not in FORMATS:
            raise ValueError(f"predictions are written as {' or '.join(FORMATS)}, not as {self.table!r}")
        if self.epochs and self.episodic:
            raise ValueError("epochs and episodic exclude each other: learn from all images first, or from each alone")
        if self.bake:
            format_of(self.bake)

    def run(self, track: Track) -> dict[str, Any]:
        """Adapt, write everything, the summary last, and return it: a folder with a summary is whole."""
        entry = zoo.load(self.model, self.weights)
        stream, adapted = self.stream(entry), self.adapted(entry)
        kept = record(entry, adapted, stream, self.epochs, track)
        summary = {**kept.summary(), "protocol": protocol(entry, adapted, stream, self.epochs)}
        self.out.mkdir(parents=True, exist_ok=True)
        (self.out / "summary.json").unlink(
            missing_ok=True
        )  # of an earlier run: it would vouch for files that are not its own
        write_predictions(kept, stream, self.out / f"predictions.{self.table}")
        adapted.delta().save(self.out / "delta.safetensors")
        plot(kept, f"{entry.name} on {stream.name}: {adapted.engine.method}", self.out / "summary.png")
        if self.bake:
            baked_to(adapted, stream, self.bake)
        with atomic_write(self.out / "summary.json") as beside:
            beside.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
        return summary

    def stream(self, entry: Entry) -> Stream:
        """Return the batches, prepared as the model wants them."""
        size = self.batch or (1 if self.episodic else 128)
        order = Stored() if self.shuffle is None else Shuffled(self.shuffle)
        stream = Stream(images_of(self.data, dict(self.options or {})), size, order, entry.preprocess)
        return stream.first(min(self.limit, stream.total)) if self.limit else stream

    def adapted(self, entry: Entry) -> Adapted:
        """Return the model under adaptation, from the delta if one is given."""
        shows: Answers | None = "after" if self.episodic and self.steps == 1 else None  # the method's own
        adapted = adapt(
            entry.model,
            self.method,
            stats=self.stats,
            lr=self.lr,
            steps=self.steps,
            episodic=self.episodic,
            answers=shows,
        )
        if self.delta:
            adapted.load_delta(self.delta)
        return adapted


def images_of(data: str, options: dict[str, Any]) -> Images:
    """Return the images of a folder, of .npy files, or of a set's name."""
    if Path(data).is_dir():
        return load(f"folder:{data}", **options)
    if data.split(",")[0].endswith(".npy"):
        return load(f"npy:{data}", **options)
    return load(data, **options)
