"""A practitioner's job: a model, data and choices in, a folder of results out."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from tent.adapted import Adapted, adapt
from tent.apps.export_file import export_baked, export_format
from tent.apps.record import Record, check_format
from tent.apps.run_plot import draw_run
from tent.data import Stream, load
from tent.data.order import Order, Stored
from tent.data.sets.images import Images
from tent.data.stream import Batch
from tent.engine.structures import call_inputs, find_logits
from tent.environment import best_device
from tent.evaluate import Track, evaluate, model_device, protocol
from tent.files import atomic_write, check_folder
from tent.method import Answers, Method
from tent.methods import Source
from tent.models import zoo
from tent.models.entry import Entry
from tent.norm import Stats
from tent.plotting import pyplot


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
    order: Order = Stored()  # noqa: RUF009 (frozen)
    limit: int | None = None
    options: Mapping[str, Any] | None = None  # what the set needs besides: corruption, severity
    weights: Path | None = None
    delta: Path | None = None
    bake: Path | None = None
    table: str = "csv"

    def __post_init__(self) -> None:
        if self.epochs and self.episodic:
            raise ValueError("epochs and episodic exclude each other: learn from all images first, or from each alone")
        check_format(self.table)
        check_folder(self.out)
        pyplot()  # which the run ends with
        if self.bake:
            export_format(self.bake)
        if self.bake and type(self.method).answer is not Method.answer:
            raise ValueError(f"{self.method!r} answers by itself, which no baked model can")

    def run(self, track: Track) -> dict[str, Any]:
        """Adapt, write everything, the summary last, and return it: a folder with a summary is whole."""
        entry = zoo.load(self.model, self.weights)
        entry.model.to(best_device())
        stream, adapted = self.stream(entry), self.adapted(entry)
        when: dict[str, Any] = {"offline": True, "epochs": self.epochs} if self.epochs else {}
        record = record_run(entry, adapted, stream, track, when)
        counts = {"updates": adapted.updates, "skipped": adapted.skipped}
        words = {"model": entry.name, "weights": entry.weights, **protocol(adapted, stream, **when)}
        summary = {**record.summary(), **counts, "protocol": words}
        self.out.mkdir(parents=True, exist_ok=True)
        (self.out / "summary.json").unlink(missing_ok=True)  # an earlier one would vouch for files of this run
        record.write(stream, self.out / f"predictions.{self.table}")
        adapted.delta().save(self.out / "delta.safetensors")
        draw_run(record, f"{entry.name} on {stream.name}: {words['method']}", self.out / "summary.png")
        if self.bake:
            export_baked(adapted, stream, self.bake)
        with atomic_write(self.out / "summary.json") as partial:
            partial.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
        return summary

    def stream(self, entry: Entry) -> Stream:
        """Return the batches, prepared as the model wants them."""
        size = self.batch or (1 if self.episodic else 128)
        stream = Stream(load_images(self.data, dict(self.options or {})), size, self.order, entry.preprocess)
        return stream.first(min(self.limit, stream.total)) if self.limit else stream

    def adapted(self, entry: Entry) -> Adapted:
        """Return the model under adaptation, from the delta if one is given."""
        answers: Answers | None = "after" if self.episodic and self.steps == 1 else None  # the method's own
        adapted = adapt(
            entry.model,
            self.method,
            stats=self.stats,
            lr=self.lr,
            steps=self.steps,
            episodic=self.episodic,
            answers=answers,
        )
        if self.delta:
            adapted.load_delta(self.delta)
        return adapted


def record_run(entry: Entry, adapted: Adapted, stream: Stream, track: Track, when: Mapping[str, Any]) -> Record:
    """Run a stream through the adapted model, and note beside its answers what the source says of each batch."""
    source, record = adapt(entry.model, Source()), Record(tuple(entry.class_names or ()))
    _check_fit(entry, stream)

    def note(batch: Batch, output: Any) -> None:
        inputs = call_inputs(batch.inputs)
        record.add(_answer(source, batch), find_logits(output, inputs), batch.labels)

    evaluate(adapted, stream, track=track, on_batch=note, **when)
    return record


def _check_fit(entry: Entry, stream: Stream) -> None:
    """Say so if a model cannot answer on one image of the stream, before it learns from any."""
    batch = next(iter(stream.first(1))).to(model_device(entry.model))
    try:
        classes = _answer(adapt(entry.model, Source(), lean=False), batch).shape[1]  # torch's own words for what fails
    except (RuntimeError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError) as error:
        shape, reason = "x".join(map(str, batch.inputs.shape[1:])), str(error).partition("\n")[0]
        reason = reason if isinstance(error, RuntimeError) else f"{type(error).__name__}: {reason}"
        raise ValueError(f"{entry.name} fails on an image of {stream.name}, {shape}: {reason}") from error
    if stream.classes is not None and stream.classes > classes:
        raise ValueError(f"{stream.name} has {stream.classes} classes, but {entry.name} answers with {classes}")


def _answer(source: Adapted, batch: Batch) -> Tensor:
    inputs = call_inputs(batch.inputs)
    return find_logits(source(*inputs[0], **inputs[1]), inputs)


def load_images(data: str, options: dict[str, Any]) -> Images:
    """Return the images of a folder, of .npy files, or of a set's name."""
    if Path(data).is_dir():
        return load(f"folder:{data}", **options)
    if data.split(",")[0].endswith(".npy"):
        return load(f"npy:{data}", **options)
    return load(data, **options)
