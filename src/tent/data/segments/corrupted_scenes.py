"""Street scenes under corruptions, "Cityscapes-C": images at the published strengths, labels of the clean set."""

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tent
from tent.data.preprocess import pillow_image
from tent.data.segments.class_map import ClassMap
from tent.data.segments.label_maps import LabelMapImages
from tent.data.segments.scenes import check_pairs, cityscapes_pairs
from tent.data.sets.folders import read_image
from tent.data.sets.images import Images
from tent.data.sets.published import Format, Progress, Set, silent
from tent.files import atomic_write

CARD = "made.json"


def make_scenes(
    images: LabelMapImages,
    folder: Path,
    types: Sequence[str],
    severities: Sequence[int],
    *,
    seed: int = 0,
    first: int = 0,
    workers: int = 1,
    frost: str | None = None,
    progress: Progress = silent,
) -> tuple[str, ...]:
    """Corrupt every image into `<type>/<severity>/` under its own path, and return what was made; whole ones stay.

    Args:
        first: the number of the first image, by which its random draws are made.
    """
    jobs = [(type_, severity) for type_ in types for severity in severities]
    total, made = len(jobs) * len(images), []
    for number, (type_, severity) in enumerate(jobs):
        out = folder / type_ / str(severity)
        _check_settings(out, {"seed": seed, "frost": frost if type_ == "frost" else None})
        missing = [i for i, file in enumerate(images.files) if not (out / file).is_file()]

        def work(i: int, job: tuple[str, int] = (type_, severity), out: Path = out) -> None:
            _corrupt(images.folder / images.files[i], out / images.files[i], job, seed, first + i, frost)

        with ThreadPoolExecutor(workers) as pool:
            for done, _ in enumerate(pool.map(work, missing), 1):
                progress(f"making {type_} {severity}", number * len(images) + done, total)
        made += [f"{type_}/{severity}"] if missing else []
    return tuple(made)


def open_corrupted(
    known: Set, folder: Path, split: str, *, ids: ClassMap, corruption: str | None = None, severity: int = 5
) -> Images:
    """Open `<type>/<severity>/leftImg8bit/<split>`, with the label maps of the clean set beside this one."""
    there = sorted(path.name for path in folder.glob("*") if path.is_dir())
    if corruption is None:
        raise ValueError(f"{known.name} needs a corruption; there: {', '.join(there) or 'none yet'}")
    own = folder / corruption / str(severity)
    hint = f"make it with: tent data make {known.name} --types {corruption} --severities {severity}"
    pairs = cityscapes_pairs(own, split, hint)
    up = Path(os.path.relpath(folder.parent / str(known.made_from), own))
    whole = check_pairs(own, [(image, str(up / labels)) for image, labels in pairs], f"bring {known.made_from} too")
    images = LabelMapImages(f"{known.name} {split} {corruption} severity {severity}", own, whole, ids)
    images.name += "" if len(images) == known.splits[split] else f" ({len(images):,} of {known.splits[split]:,} images)"
    return images


def corrupted_format(ids: ClassMap) -> Format:
    """Return the format of a corrupted set."""

    def open_(known: Set, folder: Path, split: str, corruption: str | None = None, severity: int = 5) -> Images:
        return open_corrupted(known, folder, split, ids=ids, corruption=corruption, severity=severity)

    def list_corruptions(folder: Path) -> list[str]:
        return [f"{path.name} (made)" for path in sorted(folder.glob("*")) if path.is_dir()]

    return Format(open_, list_corruptions, ("corruption", "severity"))


def _check_settings(out: Path, how: Mapping[str, int | str | None]) -> None:
    """Note how a folder's images are made, or refuse those that were made otherwise."""
    out.mkdir(parents=True, exist_ok=True)
    card = out / CARD
    if not card.is_file():
        with atomic_write(card) as partial:
            partial.write_text(json.dumps({"tent": tent.__version__, **how}) + "\n", encoding="utf-8")
    found = json.loads(card.read_text(encoding="utf-8"))
    for name, value in how.items():
        if (then := found.get(name)) != value:
            raise ValueError(f"{out} was made with {name} {then}, not {value}; delete it first to make it again")


def _corrupt(clean: Path, path: Path, job: tuple[str, int], seed: int, number: int, frost: str | None) -> None:
    from tent.data.corruptions import corrupt

    pixels, own = read_image(clean)[None], frost if job[0] == "frost" else None
    made = corrupt(pixels, *job, seed=seed, start=number, constants="imagenet", frost=own)[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as partial:
        pillow_image().fromarray(made).save(partial, format="PNG")
