"""Street scenes under corruptions, "Cityscapes-C": images at the published strengths, labels of the clean set."""

import os
from pathlib import Path

from tent.data.segments.class_map import ClassMap
from tent.data.segments.label_maps import LabelMapImages
from tent.data.segments.scenes import check_pairs, cityscapes_pairs
from tent.data.sets.images import Images
from tent.data.sets.published import Format, Set


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
