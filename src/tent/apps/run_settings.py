"""What decides the numbers of a run, in words: a folder holds the run of one such list."""

import hashlib
import inspect
from pathlib import Path
from typing import TYPE_CHECKING

import torch

import tent
from tent.adapted import Adapted
from tent.data import Stream
from tent.evaluate import model_device
from tent.models.entry import Entry

if TYPE_CHECKING:
    from tent.apps.adapt import Job


def describe_settings(job: "Job", entry: Entry, stream: Stream, adapted: Adapted) -> dict[str, str]:
    """Return all that a run's numbers depend on, the data and the weights by their hashes."""
    settings = {
        "model": job.model,
        "weights": adapted.state.setup.source.fingerprint()[:16],
        "data": job.data.name,
        "images": f"{stream.total:,}",
        "order": stream.order_words,
        "batch": job.batch_size,
        "method": repr(job.method),
        "statistics": repr(adapted.stats),
        "epochs": job.epochs,
        "episodic": job.episodic,
        "steps": job.steps,
        "answers": adapted.answers,
        "lr": job.lr,
        "precision": adapted.precision,
        "device": model_device(entry.model).type,
        "preprocessing": stream.preprocess.words,
        "class names": _hash("\n".join(entry.class_names or ()).encode()),
        "unreadable images": "an error" if job.data.strict else "left out",
        "source data": f"{job.source_images} of {job.source_data}" if job.source_data else "none",
        "delta": _hash(job.delta.read_bytes()) if job.delta else "none",
        "baked": job.bake,
        "table": job.table,
        **({"tile": f"{job.tile[0]}x{job.tile[1]}"} if job.tile else {}),
        **({"pictures": "label maps alone"} if job.maps_only else {}),
        "contents": _hash(" ".join(stream.sha256).encode()),
        "code": _hash(b"".join(path.read_bytes() for path in _own_files(job))),
        "versions": f"tent {tent.__version__}, torch {torch.__version__}",
    }
    return {name: str(value) for name, value in settings.items()}


def own_file(model: str) -> str | None:
    """Return the user's file that a model comes from, if it does."""
    file, colon, _ = model.partition(".py:")
    return f"{file}.py" if colon else None


def _own_files(job: "Job") -> list[Path]:
    files = [Path(file).expanduser()] if (file := own_file(job.model)) else []
    if type(job.method).__module__.startswith("tent_user_"):
        files.append(Path(inspect.getfile(type(job.method))))
    return files


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
