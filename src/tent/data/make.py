"""The corruption benchmark made from clean images, in the layout it was published in."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import tent
from tent.data.corrupted.corrupted_folders import make_folders
from tent.data.corrupted.corruption import FRAME, QUALITY, Corruption
from tent.data.corrupted.processes import Map, start_processes
from tent.data.data_folder import crop_folder, lock_set
from tent.data.segments.label_maps import LabelMapImages
from tent.data.sets.arrays import new_array, open_array, open_pixels, save_array, save_text
from tent.data.sets.catalog import SETS, get_set
from tent.data.sets.folders import FolderImages
from tent.data.sets.formats import CORRUPTED_ARRAYS, split_folder
from tent.data.sets.images import Labels
from tent.data.sets.published import Progress, Set, silent
from tent.files import partial_path

SEVERITIES = (1, 2, 3, 4, 5)
# training images are numbered from here on, so that none has the random draws of a test image
FIRST = {"test": 0, "train": 1_000_000}
CHUNK = 500  # images at a time: few enough for steady progress, enough to be worth a worker


@dataclass(frozen=True)
class Job:
    """One file to make: a type, its severities in order, and how."""

    file: Path
    source: Path  # the clean images
    type: str
    severities: tuple[int, ...]
    seed: int
    frost: str | None
    first: int = 0  # the number of the first image, by which it is drawn for

    @property
    def card(self) -> Path:
        """The note beside the file that says how it was made."""
        return self.file.with_suffix(".made.json")


@dataclass(frozen=True)
class Chunk:
    """A run of clean images, and the first row that their corruption fills."""

    job: Job
    severity: int
    start: int
    stop: int
    row: int


def make(
    known: Set,
    root: Path,
    types: Sequence[str] = (),
    severities: Sequence[int] = (),
    *,
    split: str = "test",
    seed: int = 0,
    workers: int = 1,
    frost: str | None = None,
    progress: Progress = silent,
) -> tuple[str, ...]:
    """Make the files that are not there yet, and return their names.

    Args:
        types: the fifteen of the benchmark unless given.
        severities: of arrays all five make a `<type>.npy` as published, fewer one `<type>_<severity>.npy` each.
        split: the clean images that are corrupted: test, as published, or train, into a folder of that name.
        workers: processes; one uses torch's threads. The result does not depend on their number.
        frost: a folder of photographs of frost; without it frost is drawn.
    """
    if known.made_from is None:
        raise ValueError(f"{known.name} is not made here; {', '.join(list_made())} are")
    if workers < 1:
        raise ValueError(f"workers {workers}: at least one process does the work")
    types, severities = _check_types(types), _check_severities(severities)
    if split not in FIRST:
        raise ValueError(f"split {split!r}: choose from {', '.join(FIRST)}")
    clean, folder = get_set(known.made_from), output_folder(known, root, split)
    images = clean.open(root, split)
    if isinstance(images, FolderImages):
        plain = isinstance(images, LabelMapImages)  # scenes stay as large as their label maps, and lose nothing
        how = (None, None) if plain else (FRAME, QUALITY)
        jobs = [Corruption(type_, level, seed, FIRST[split], frost, *how) for type_ in types for level in severities]
        own = clean.split_name(split) if plain else None  # side by side in one folder, under one card
        with lock_set(folder):
            cache = crop_folder(root)
            return make_folders(images, folder, jobs, workers=workers, split=own, cache=cache, progress=progress)
    source = clean.path(root) / f"{split}_images.npy"
    groups = [SEVERITIES] if severities == SEVERITIES else [(severity,) for severity in severities]
    with lock_set(folder):
        _save_labels(folder, images.labels)
        plan = partial(_plan, folder, source, seed=seed, frost=frost, first=FIRST[split])
        arrays = [plan(type_, group) for type_ in types for group in groups]
        return _run([job for job in arrays if not is_whole(job, len(images))], len(images), workers, progress)


def output_folder(known: Set, root: Path, split: str) -> Path:
    """Return where a split of a set is made: arrays of training images lie in a folder of their own."""
    folder = known.path(root)
    return split_folder(folder, split) if known.format is CORRUPTED_ARRAYS else folder


def list_made() -> list[str]:
    """Return the sets that are made."""
    return [known.name for known in SETS.values() if known.made_from]


def is_whole(job: Job, images: int) -> bool:
    """Tell whether a job's images are there already; a file that is there but wrong is an error."""
    published = job.file.with_name(f"{job.type}.npy")
    file, severities = (published, SEVERITIES) if published.is_file() else (job.file, job.severities)
    if not file.is_file():
        return False
    rows = len(open_pixels(file, "make it again"))
    if rows != images * len(severities):
        raise ValueError(f"{file}: {rows:,} images where {images * len(severities):,} belong; delete it, make it again")
    card = file.with_suffix(".made.json")
    seed = json.loads(card.read_text(encoding="utf-8")).get("seed") if card.is_file() else job.seed
    if seed != job.seed:
        raise ValueError(f"{file} was made with seed {seed}, not {job.seed}; delete it first to make it again")
    return True


def corrupt_chunk(chunk: Chunk) -> int:
    """Corrupt one chunk's images into the file that is being made, and return how many they were."""
    from tent.data.corruptions import corrupt

    clean = open_pixels(chunk.job.source, "fetch it again")[chunk.start : chunk.stop]
    job, start = chunk.job, chunk.job.first + chunk.start
    out = corrupt(np.array(clean), job.type, chunk.severity, seed=job.seed, start=start, frost=job.frost)
    target = np.load(partial_path(job.file), mmap_mode="r+", allow_pickle=False)
    target[chunk.row : chunk.row + len(clean)] = out
    return len(clean)


def _plan(
    folder: Path, source: Path, type_: str, severities: tuple[int, ...], *, seed: int, frost: str | None, first: int
) -> Job:
    name = f"{type_}.npy" if severities == SEVERITIES else f"{type_}_{severities[0]}.npy"
    return Job(folder / name, source, type_, severities, seed, frost if type_ == "frost" else None, first)


def _run(jobs: list[Job], images: int, workers: int, progress: Progress) -> tuple[str, ...]:
    total, done = sum(len(job.severities) for job in jobs) * images, 0
    with start_processes(workers if jobs else 1) as work:
        for job in jobs:
            done = _write(job, work, progress, done, total)
    return tuple(job.file.name for job in jobs)


def _write(job: Job, work: Map, progress: Progress, done: int, total: int) -> int:
    clean = open_pixels(job.source, "fetch it again")
    with new_array(job.file, (len(clean) * len(job.severities), *clean.shape[1:])):
        for count in work(corrupt_chunk, _chunks(job, len(clean))):
            done += count
            progress(f"making {job.file.name}", done, total)
        # the card is there before the file is: a made file is never taken for the published one
        card = {"tent": tent.__version__, "seed": job.seed, "severities": job.severities, "frost": job.frost}
        save_text(job.card, json.dumps(card) + "\n")
    return done


def _chunks(job: Job, images: int) -> list[Chunk]:
    return [
        Chunk(job, severity, start, min(start + CHUNK, images), place * images + start)
        for place, severity in enumerate(job.severities)
        for start in range(0, images, CHUNK)
    ]


def _check_types(types: Sequence[str]) -> tuple[str, ...]:
    from tent.data.corruptions import BENCHMARK, HELD_OUT

    if strange := [type_ for type_ in types if type_ not in (*BENCHMARK, *HELD_OUT)]:
        raise ValueError(f"no corruption is called {strange[0]!r}; there are {', '.join((*BENCHMARK, *HELD_OUT))}")
    return tuple(dict.fromkeys(types)) or tuple(BENCHMARK)


def _check_severities(severities: Sequence[int]) -> tuple[int, ...]:
    if strange := [severity for severity in severities if severity not in SEVERITIES]:
        raise ValueError(f"severity {strange[0]}: choose from 1 to 5")
    return tuple(sorted(set(severities))) or SEVERITIES


def _save_labels(folder: Path, labels: Labels | None) -> None:
    if labels is None:
        raise ValueError(f"{folder}: the clean images have no labels to carry over")
    path, due = folder / "labels.npy", np.tile(labels, len(SEVERITIES))
    if not path.is_file():
        save_array(path, due)
    elif not np.array_equal(open_array(path, "make it again"), due):
        raise ValueError(f"{path}: not the labels of the clean images, five times over; delete it, make it again")
