"""What of a set lies in its folder, told from names alone, without reading any image."""

from pathlib import Path

SEVERITIES = range(1, 6)


def plain(folder: Path) -> list[str]:
    """Return the splits whose images and labels are both there."""
    return [split for split in ("train", "test") if _both(folder, f"{split}_images.npy", f"{split}_labels.npy")]


def versioned(folder: Path) -> list[str]:
    """Return the versions of CIFAR-10.1 that are there."""
    return [v for v in ("v4", "v6") if _both(folder, f"cifar10.1_{v}_data.npy", f"cifar10.1_{v}_labels.npy")]


def corrupted_arrays(folder: Path) -> list[str]:
    """Return the types that are there, if their labels are; "(made)" marks those that were made here."""
    if not (folder / "labels.npy").is_file():
        return []
    files = [path for path in sorted(folder.glob("[a-z]*.npy")) if path.name != "labels.npy"]
    return [path.stem + (" (made)" if path.with_suffix(".made.json").is_file() else "") for path in files]


def class_tree(folder: Path) -> list[str]:
    """Return the splits that have a folder."""
    return [split for split in ("val",) if (folder / split).is_dir()]


def corrupted_tree(folder: Path) -> list[str]:
    """Return the types with all five severities."""
    if not folder.is_dir():
        return []
    types = [entry for entry in sorted(folder.iterdir()) if entry.is_dir() and not entry.name.startswith(".")]
    return [entry.name for entry in types if all((entry / str(severity)).is_dir() for severity in SEVERITIES)]


def numbered_tree(folder: Path) -> list[str]:
    """Return the versions of ImageNetV2 that have a folder."""
    start, end = "imagenetv2-", "-format-val"
    found = sorted(folder.glob(f"{start}*{end}"))
    return [path.name.removeprefix(start).removesuffix(end) for path in found if path.is_dir()]


def listed(folder: Path) -> list[str]:
    """Return the splits that have a list of images."""
    return [split for split in ("train", "validation") if (folder / split / "image_list.txt").is_file()]


def _both(folder: Path, *names: str) -> bool:
    return all((folder / name).is_file() for name in names)
