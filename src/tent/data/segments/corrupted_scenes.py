"""Street scenes under corruptions, "Cityscapes-C": images at the published strengths, labels of the clean set."""

import os
from functools import partial
from pathlib import Path

from tent.data.corrupted.corrupted_folders import check_complete
from tent.data.segments.class_map import ClassMap
from tent.data.segments.label_maps import LabelMapImages
from tent.data.segments.scenes import check_pairs, cityscapes_pairs
from tent.data.sets.images import Images
from tent.data.sets.published import Format, Set


def open_corrupted(
    known: Set,
    folder: Path,
    split: str,
    *,
    ids: ClassMap,
    corruption: str | None = None,
    severity: int = 5,
    labelled: bool = True,
) -> Images:
    """Open `<type>/<severity>/leftImg8bit/<split>`, with the label maps of the clean set beside this one.

    Args:
        labelled: False takes the images alone, whose maps need not be there.
    """
    there = sorted(path.name for path in folder.glob("*") if path.is_dir())
    if corruption is None:
        raise ValueError(f"{known.name} needs a corruption; there: {', '.join(there) or 'none yet'}")
    own = folder / corruption / str(severity)
    command = f"tent data make {known.name} --types {corruption} --severities {severity}"
    command += " --split train" if split == "train" else ""
    pairs = cityscapes_pairs(own, split, f"make it with: {command}")
    check_complete(own, command, split, len(pairs))
    up, hint = Path(os.path.relpath(folder.parent / str(known.made_from), own)), f"bring {known.made_from} too"
    whole = check_pairs(own, [(image, str(up / labels)) for image, labels in pairs], hint, labelled)
    images = LabelMapImages(f"{known.name} {split} {corruption} severity {severity}", own, whole, ids)
    if not labelled:
        images.hide_labels()
    images.name += "" if len(images) == known.splits[split] else f" ({len(images):,} of {known.splits[split]:,} images)"
    return images


def corrupted_format(ids: ClassMap) -> Format:
    """Return the format of a corrupted set."""

    def list_corruptions(folder: Path) -> list[str]:
        return [f"{path.name} (made)" for path in sorted(folder.glob("*")) if path.is_dir()]

    return Format(partial(open_corrupted, ids=ids), list_corruptions, ("corruption", "severity", "labelled"))
