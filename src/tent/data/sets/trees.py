"""The formats of sets that lie as image files in folders: how each is opened, and which pieces lie in a folder."""

from pathlib import Path
from typing import cast

from tent.data.corrupted.corrupted_folders import CARD, check_complete, is_missing_or_empty
from tent.data.corrupted.corrupted_images import CorruptedImages
from tent.data.corrupted.corruption import FRAME, QUALITY, Corruption
from tent.data.data_folder import crop_folder
from tent.data.sets.class_names import read_class_index
from tent.data.sets.folders import FolderImages, class_folders, open_class_folders, open_image_list
from tent.data.sets.formats import SEVERITIES, check_corruption, describe_maker, note_count
from tent.data.sets.images import Images
from tent.data.sets.published import Format, Set


def open_class_tree(known: Set, folder: Path, split: str) -> Images:
    """Open `<split>/<class>/<image>`; all classes must be there, or every label after a missing one is wrong."""
    return _open_tree(known, folder / split, f"{known.name} {split}", known.splits[split])


def list_class_tree(folder: Path) -> list[str]:
    """Return the splits that have a folder."""
    return [split for split in ("val",) if (folder / split).is_dir()]


def open_corrupted_tree(
    known: Set, folder: Path, split: str, corruption: str | None = None, severity: int = SEVERITIES
) -> Images:
    """Open `<type>/<severity>/<class>/<image>`, or corrupt the clean set's images while they are read."""
    from tent.data.corruptions.constants import IMAGENET  # here: its room is heavy, and not needed to name sets

    clean = _find_clean(known, folder)
    check_corruption(
        known, corruption, severity, [entry.name for entry in _folders(folder)] if clean is None else IMAGENET
    )
    own, name = folder / str(corruption) / str(severity), f"{known.name} {corruption} severity {severity}"
    if is_missing_or_empty(own) and clean is not None:
        how = Corruption(str(corruption), severity, frame=FRAME, quality=QUALITY)
        images = cast(FolderImages, clean.open(folder.parent, split))  # trees are made from trees
        return CorruptedImages(name, images, how, crop_folder(folder.parent))
    # first: a folder that is made in part lacks classes too, and only its card tells why
    check_complete(own, f"tent data make {known.name} --types {corruption} --severities {severity}")
    found = _open_tree(known, own, name, known.splits[split])
    found.name, found.cropped = found.name + describe_maker(own / CARD), True
    return found if clean is None else _name_classes(found, clean.path(folder.parent))


def list_corrupted_tree(folder: Path) -> list[str]:
    """Return the types with all five severities; "(made)" marks those that were made here."""
    levels = [str(severity) for severity in range(1, SEVERITIES + 1)]
    whole = [entry for entry in _folders(folder) if not any(is_missing_or_empty(entry / level) for level in levels)]
    return [entry.name + (" (made)" if any(entry.glob(f"*/{CARD}")) else "") for entry in whole]


def open_numbered_tree(known: Set, folder: Path, split: str, version: str = "matched-frequency") -> Images:
    """Open ImageNetV2: `imagenetv2-<version>-format-val/<0..999>/<image>`, a folder's number being its label."""
    if version not in known.pieces:
        raise ValueError(f"{known.name} has no version {version!r}; choose from {', '.join(known.pieces)}")
    folder = folder / f"imagenetv2-{version}-format-val"
    return _open_tree(known, folder, f"{known.name} {version}", known.splits[split], numbered=True)


def list_numbered_tree(folder: Path) -> list[str]:
    """Return the versions of ImageNetV2 that have a folder."""
    start, end = "imagenetv2-", "-format-val"
    found = sorted(folder.glob(f"{start}*{end}"))
    return [path.name.removeprefix(start).removesuffix(end) for path in found if path.is_dir()]


def open_indexed_tree(known: Set, folder: Path, split: str) -> Images:
    """Open `<0000..0999>/<image>`, a folder's number being its label, with the classes' names in `classes.json`."""
    name = f"{known.name} {split}"
    return _name_classes(_open_tree(known, folder, name, known.splits[split], numbered=True), folder)


def list_indexed_tree(folder: Path) -> list[str]:
    """Return the one split, if the folder of the first class is there."""
    return ["val"] if (folder / "0000").is_dir() else []


def open_visda(known: Set, folder: Path, split: str) -> Images:
    """Open `<split>/image_list.txt`, a path and a label a line."""
    name, names = f"{known.name} {split}", known.class_names or ()
    found = open_image_list(name, folder / split, "image_list.txt", names, known.hint)
    return note_count(found, known.splits[split])


def list_visda(folder: Path) -> list[str]:
    """Return the splits that have a list of images."""
    return [split for split in ("train", "validation") if (folder / split / "image_list.txt").is_file()]


CLASS_TREE = Format(open_class_tree, list_class_tree)
CORRUPTED_TREE = Format(open_corrupted_tree, list_corrupted_tree, ("corruption", "severity"))
NUMBERED_TREE = Format(open_numbered_tree, list_numbered_tree, ("version",))
INDEXED_TREE = Format(open_indexed_tree, list_indexed_tree)
LIST = Format(open_visda, list_visda)


def _find_clean(known: Set, folder: Path) -> Set | None:
    """Return the set that one is made from, if it lies beside it."""
    from tent.data.sets.catalog import get_set  # which is made of the formats below

    clean = get_set(known.made_from) if known.made_from else None
    return clean if clean and clean.pieces_in(clean.path(folder.parent)) else None


def _name_classes(found: Images, folder: Path) -> Images:
    """Give a set the names of ImageNet's classes, where a folder has a file of them."""
    index = read_class_index(folder / "classes.json")
    if index is not None and len(index[0]) == found.classes:
        found.class_names, found.class_ids = index
    return found


def _open_tree(known: Set, folder: Path, name: str, published: int, numbered: bool = False) -> FolderImages:
    names = class_folders(folder, known.hint)
    if numbered and [int(each) if each.isdecimal() else each for each in names] != [*range(known.classes)]:
        raise ValueError(f"{folder}: its folders are not 0 to {known.classes - 1}; {known.hint}")
    if len(names) != known.classes:
        raise ValueError(f"{folder}: {len(names):,} class folders where {known.classes:,} belong; {known.hint}")
    return note_count(open_class_folders(name, folder, names, known.hint), published)


def _folders(folder: Path) -> list[Path]:
    entries = sorted(folder.iterdir()) if folder.is_dir() else []
    return [entry for entry in entries if entry.is_dir() and not entry.name.startswith(".")]
