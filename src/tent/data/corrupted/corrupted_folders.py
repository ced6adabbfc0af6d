"""Corrupted images written as files, in the layout of ImageNet-C: `<type>/<severity>/` and the clean path."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

import tent
from tent.data.corrupted.corruption import Corruption
from tent.data.corrupted.processes import Map, start_processes
from tent.data.crop_cache import read_framed, write_crops
from tent.data.sets.folders import FolderImages, list_images
from tent.data.sets.published import Progress, silent
from tent.files import atomic_write

CARD = "made.json"
CHUNK = 64  # files at a time: few enough for steady progress, enough to be worth a process


@dataclass(frozen=True)
class FileChunk:
    """Some files of a clean set, by their places in it, and where they go."""

    corruption: Corruption
    files: tuple[tuple[int, str], ...]
    clean: Path
    out: Path
    crops: Path | None


def make_folders(
    images: FolderImages,
    folder: Path,
    corruptions: Sequence[Corruption],
    *,
    workers: int = 1,
    split: str | None = None,
    cache: Path | None = None,
    progress: Progress = silent,
) -> tuple[str, ...]:
    """Corrupt every image into a file under its own path, and return what was made; whole files stay as they are.

    Args:
        split: what the images are of, where splits lie side by side in one folder.
        cache: a folder for the framed pixels of the clean set, if it is small enough for them to be kept.
    """
    corruptions = [each for each in corruptions if not _is_published(folder / each.type / str(each.severity))]
    total, made = len(corruptions) * len(images), []
    with start_processes(min(workers, math.ceil(len(images) / CHUNK))) as run:  # one for a chunk at most
        for number, each in enumerate(corruptions):
            name = f"{each.type}/{each.severity}"
            out = folder / name
            frost = each.frost if each.type == "frost" else None
            _remove_partials(out)
            _write_card(out, each.describe(), len(images), split)
            missing = [(i, file) for i, file in enumerate(images.files) if not (out / file).is_file()]
            done = (number + 1) * len(images) - len(missing)
            for count in _run(run, replace(each, frost=frost), images, missing, out, cache):
                done += count
                progress(f"making {name}", done, total)
            made += [name] if missing else []
    return tuple(made)


def write_chunk(chunk: FileChunk) -> int:
    """Corrupt and write some files, and return how many they were."""
    how = chunk.corruption
    lossy = {} if how.quality is None else {"optimize": True}  # smaller, of the same pixels: so it was published

    def write(place: int, file: str) -> None:
        clean, path = read_framed(chunk.clean / file, how.frame, chunk.crops, place), chunk.out / file
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as partial:
            partial.write_bytes(how.encode(how.apply(clean, place), **lossy))

    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        return len(list(pool.map(lambda entry: write(*entry), chunk.files)))


def is_missing_or_empty(folder: Path) -> bool:
    """Tell whether a folder is not there, or has nothing in it but hidden files, such as those of a killed run."""
    return not folder.is_dir() or all(entry.name.startswith(".") for entry in folder.iterdir())


def check_complete(folder: Path, command: str, split: str | None = None, images: int | None = None) -> None:
    """Refuse a folder that was made here, and only in part.

    Args:
        command: what makes the rest.
        split: what the images are of, where splits lie side by side in one folder.
        images: how many are there; all in the folder unless given.
    """
    card = folder / CARD
    if not card.is_file():
        return
    about = json.loads(card.read_text(encoding="utf-8"))
    due = about.get("images", 0) if split is None else about.get("splits", {}).get(split, 0)
    there = len(list_images(folder)) if images is None else images
    what = "images" if split is None else f"images of {split}"
    if there < due:
        raise ValueError(f"{folder}: {there:,} of its {due:,} {what} are made; make the rest with: {command}")


def _run(
    run: Map, how: Corruption, images: FolderImages, missing: list[tuple[int, str]], out: Path, cache: Path | None
) -> Iterable[int]:
    if not missing:
        return ()
    crops = None if cache is None or how.frame is None else write_crops(images, how.frame, cache)
    parts = [tuple(missing[first : first + CHUNK]) for first in range(0, len(missing), CHUNK)]
    return run(write_chunk, [FileChunk(how, part, images.folder, out, crops) for part in parts])


def _is_published(out: Path) -> bool:
    """Tell whether a folder holds images that were not made here, which are left alone."""
    return not is_missing_or_empty(out) and not (out / CARD).is_file()


def _remove_partials(out: Path) -> None:
    """Remove what killed runs left half-written; whoever makes a set keeps all others from doing so."""
    for partial in out.rglob(".*.making"):
        partial.unlink(missing_ok=True)


def _write_card(out: Path, how: Mapping[str, int | str | None], images: int, split: str | None) -> None:
    """Note how a folder's images are made, and how many they will be, or refuse those that were made otherwise."""
    out.mkdir(parents=True, exist_ok=True)
    card = out / CARD
    found: dict[str, Any] = {"tent": tent.__version__, **how}
    if card.is_file():
        found = json.loads(card.read_text(encoding="utf-8"))
    for name, value in how.items():
        if (then := found.get(name)) != value:
            raise ValueError(f"{out} was made with {name} {then}, not {value}; delete it first to make it again")
    splits = {**found.get("splits", {}), split: images}
    about = {"images": images, **found} if split is None else {**found, "splits": splits}
    if about != found:
        with atomic_write(card) as partial:
            partial.write_text(json.dumps(about) + "\n", encoding="utf-8")
