"""One run of a job: the stream through the adapted model, saved on the way, and its results on disk."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from tent.adapted import Adapted, adapt
from tent.apps.class_runs import SORTED, ClassRuns
from tent.apps.export_file import export_baked
from tent.apps.out_folder import ABOUT, DELTA, PICTURE, OutFolder
from tent.apps.record import Record
from tent.apps.run_data import describe_unreadable, list_unreadable
from tent.apps.run_plot import draw_run
from tent.apps.run_settings import own_file
from tent.data import Stream
from tent.data.order import Stored
from tent.data.sets.images import Images
from tent.data.stream import Batch
from tent.engine.structures import call_inputs, find_logits
from tent.evaluate import Track, evaluate, model_device, protocol
from tent.files import describe_error
from tent.methods import Source
from tent.models.entry import Entry
from tent.plotting import has_matplotlib

if TYPE_CHECKING:
    from tent.apps.adapt import Job


@dataclass
class Notices:
    """What a user should know of a run: said at once, and kept for the summary."""

    say: Callable[[str], None]
    lines: list[str] = field(default_factory=list)

    def add(self, line: str) -> None:
        """Say a line that the summary will hold."""
        if line not in self.lines:
            self.lines.append(line)
            self.say(f"warning: {line}")


class Run:
    """All that a run has loaded, and what it has answered so far."""

    def __init__(
        self,
        job: "Job",
        entry: Entry,
        images: Images,
        stream: Stream,
        adapted: Adapted,
        settings: dict[str, str],
        notices: Notices,
    ) -> None:
        self.job, self.entry, self.images, self.stream, self.adapted = job, entry, images, stream, adapted
        self.settings, self.notices = settings, notices
        self.when: dict[str, Any] = {"offline": True, "epochs": job.epochs} if job.epochs else {}
        self.record, self.runs = Record(tuple(entry.class_names or ())), ClassRuns()
        self._source = adapt(entry.model, Source())

    def answer(self, folder: OutFolder, track: Track, left: dict[str, Any] | None) -> None:
        """Run the stream, from where a run was left if it was, and note beside each answer what the source says."""
        done = self._resume(folder, left) if left else 0
        keeps = True

        def save(done: int) -> None:
            nonlocal keeps
            if keeps and folder.is_due():
                keeps = self._save(folder, done)

        evaluate(self.adapted, self.stream, track=track, on_batch=self.note, done=done, after=save, **self.when)

    def note(self, batch: Batch, output: Any) -> None:
        """Note what the source and the adapted model say of a batch."""
        inputs = call_inputs(batch.inputs)
        self.record.add(answer(self._source, batch), find_logits(output, inputs), batch.labels)
        self._watch(self.record.before.classes[-1])

    def write(self, folder: OutFolder) -> dict[str, Any]:
        """Write everything, the summary last, and return it."""
        unreadable = self.unreadable
        if unreadable:
            self.notices.add(describe_unreadable(unreadable))
        counts = {"updates": self.adapted.updates, "skipped": self.adapted.skipped}
        summary = {**self.record.summary(), **counts, "unreadable": unreadable, "warnings": self.notices.lines}
        words = self.protocol()
        self.record.write(self.files(), folder.path / f"predictions.{self.job.table}")
        self.adapted.delta().save(folder.path / DELTA)
        if has_matplotlib():
            title = f"{self.entry.name} on {self.stream.name}: {words['method']}"
            draw_run(self.record, title, folder.path / PICTURE)
        if self.job.bake:
            export_baked(self.adapted, self.stream, self.job.bake)
        summary = {**summary, "protocol": words, "settings": self.settings}
        folder.finish(summary)
        return summary

    def protocol(self) -> dict[str, str]:
        """Return in words what was run."""
        words = protocol(self.adapted, self.stream, **self.when)
        by, origin = self.stream.preprocess.words, self.entry.preprocess_origin
        source = {"source data": self.settings["source data"]} if self.job.source_data else {}
        names = {"model": self.entry.name, "weights": self.entry.weights}
        words["batch"] = f"{self.job.batch_size} images"
        if self.adapted.stats != (self.job.stats or self.job.method.stats):
            words["statistics"] += f" (chosen for batches of {min(self.job.batch_size, self.stream.total)})"
        return {**names, **words, "preprocessing": f"{by} ({origin})", **source}

    @property
    def unreadable(self) -> dict[str, str]:
        """The files that were left out, and why."""
        return list_unreadable(self.images)

    def files(self) -> list[str]:
        """Return where each image that was answered lies."""
        return [self.images.where(index) for index in self.answered()]

    def answered(self) -> list[int]:
        """Return the places, in their set, of the images that can be read, in the order of the stream."""
        out = self._left_out
        return [index for index in self.stream.indices.tolist() if index not in out]

    @property
    def _left_out(self) -> dict[int, str]:
        return self.images.unreadable

    def _resume(self, folder: OutFolder, left: dict[str, Any]) -> int:
        about = left.pop(ABOUT)
        done = folder.restore(self.adapted, about["done"])
        self._restore_record(left)
        self.notices.lines += [line for line in about["notices"] if line not in self.notices.lines]
        for classes in self.record.before.classes:
            self._watch(classes)
        self._left_out.update({int(place): why for place, why in about["unreadable"].items()})
        passes = len(self.stream) * (1 + self.job.epochs)
        self.notices.say(f"continuing after {done:,} of {passes:,} batches")
        return done

    def _restore_record(self, left: dict[str, Any]) -> None:
        self.record = Record.restore(left) if left else self.record

    def _watch(self, classes: NDArray[np.int64]) -> None:
        """Say so, once, if the source's classes come in runs; those of a model that drifts do so by themselves."""
        self.runs.add(classes)
        said = any(line.startswith(SORTED) for line in self.notices.lines)
        if self.runs.found and self.adapted.updates and not said:
            self.notices.add(self.runs.warning)

    def _save(self, folder: OutFolder, done: int) -> bool:
        """Save the run, and tell whether that could be done: a method of one's own may hold what no file can."""
        about = {"settings": self.settings, "notices": self.notices.lines, "unreadable": self._left_out}
        try:
            folder.save(self.adapted, done, self.record.arrays(), about)
        except ValueError as error:
            self.notices.add(f"this run cannot be continued after a kill: {error}")
            return False
        return True


def probe(entry: Entry, images: Images, model: str, tile: tuple[int, int] | None = None) -> tuple[int, bool]:
    """Return how many classes a model answers one image with, and whether for each pixel; say so if it cannot.

    Args:
        tile: height and width of what is answered at a time, where an image is too large for that.
    """
    batch = next(iter(Stream(images, 1, Stored(), entry.preprocess)), None)
    if batch is None:
        raise ValueError(f"{images.name}: none of its images can be read; {next(iter(images.unreadable.values()))}")
    if tile:
        batch = batch._replace(inputs=batch.inputs[..., : tile[0], : tile[1]])
    batch = batch.to(model_device(entry.model))
    try:
        shape = answer(adapt(entry.model, Source(), lean=False), batch).shape  # torch's own words for what fails
        return shape[1], len(shape) == 4
    except Exception as error:
        size = "x".join(map(str, batch.inputs.shape[1:]))
        reason = describe_error(error, own_file(model))
        raise ValueError(f"{entry.name} fails on an image of {images.name}, {size}: {reason}") from error


def answer(model: Adapted, batch: Batch) -> Tensor:
    """Return a model's logits of a batch."""
    inputs = call_inputs(batch.inputs)
    return find_logits(model(*inputs[0], **inputs[1]), inputs)
