"""How sets of street scenes lie on disk: Cityscapes, pairs of folders as GTA5 and CARLA, and CamVid."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from tent.data.segments.class_map import ClassMap, read_class_map
from tent.data.segments.label_maps import Colours, LabelMapImages
from tent.data.segments.palette import CITYSCAPES_COLOURS
from tent.data.sets.folders import list_images
from tent.data.sets.images import Images
from tent.data.sets.published import Format, Set

HELD_OUT = "valid.txt"  # names of the images that are not learnt from, one a line
GTA5_LIST = "split.mat"  # the authors' list of which image is in which split
GTA5_SPLITS = {"train": 12_403, "val": 6_382, "test": 6_181}
Pairs = list[tuple[str, str]]


def cityscapes_pairs(folder: Path, split: str, hint: str) -> Pairs:
    """Return `leftImg8bit/<split>/<city>/*_leftImg8bit.png` and the `_gtFine_labelIds.png` of each."""
    images, suffix = f"leftImg8bit/{split}", "_leftImg8bit"
    found = [path for path in _list(folder / images, hint) if Path(path).stem.endswith(suffix)]
    ids = [str(Path(path).with_name(Path(path).stem.removesuffix(suffix) + "_gtFine_labelIds.png")) for path in found]
    return [(f"{images}/{path}", f"gtFine/{split}/{own}") for path, own in zip(found, ids, strict=True)]


def folder_pairs(folder: Path, split: str, hint: str) -> Pairs:
    """Return `images/` and `labels/` of the same names; those that `valid.txt` names are the test split."""
    listed, found = folder / HELD_OUT, _list(folder / "images", hint)
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.is_file() else []
    held = {line.strip() for line in lines if line.strip()}  # names may have spaces in them
    if split != "train" and not held:
        raise FileNotFoundError(f"{listed}: no such list, and so there is no test split; write one name a line")
    if unknown := sorted(held - set(found)):
        raise ValueError(f"{listed}: names {unknown[0]}, which is not in {folder / 'images'}; {hint}")
    return _pair_up([path for path in found if (path in held) == (split != "train")])


def gta5_pairs(folder: Path, split: str, hint: str) -> Pairs:
    """Return `images/` and `labels/` of the same names that `split.mat` puts into a split.

    Without that file the names, in their order, are cut into as large shares as the authors' splits have.
    """
    found, listed = _list(folder / "images", hint), folder / GTA5_LIST
    if listed.is_file():
        wanted = {f"{number:05d}" for number in _read_split(listed, split)}
        return _pair_up([path for path in found if Path(path).stem in wanted])
    names = list(GTA5_SPLITS)
    sums = [sum(list(GTA5_SPLITS.values())[:place]) for place in range(len(names) + 1)]
    ends = [round(len(found) * each / sums[-1]) for each in sums]
    return _pair_up(found[ends[names.index(split)] : ends[names.index(split) + 1]])


def _read_split(path: Path, split: str) -> list[int]:
    """Return the numbers of a split's images in the authors' file."""
    try:
        from scipy.io import loadmat
        from scipy.io.matlab import MatReadError
    except ModuleNotFoundError:
        raise ModuleNotFoundError(f"{path}: reading it needs scipy: pip install scipy, or move it away") from None
    try:
        return [int(number) for number in loadmat(path)[f"{split}Ids"].ravel()]
    except (MatReadError, ValueError, KeyError, TypeError, NotImplementedError) as error:
        raise ValueError(f"{path}: not the split of GTA5 ({error}); fetch it again, or move it away") from None


def _pair_up(paths: Sequence[str]) -> Pairs:
    return [(f"images/{path}", str(Path("labels") / Path(path).with_suffix(".png"))) for path in paths]


def camvid_pairs(folder: Path, split: str, hint: str) -> Pairs:
    """Return `<split>/` and `<split>annot/` of the same names."""
    return [(f"{split}/{path}", f"{split}annot/{path}") for path in _list(folder / split, hint)]


def open_maps(
    known: Set,
    folder: Path,
    split: str,
    *,
    pairs: Callable[[Path, str, str], Pairs],
    ids: ClassMap,
    rows: float = 1.0,
    colours: Colours | None = None,
    labelled: bool = True,
) -> Images:
    """Open one split of a set whose pairs are found in this way.

    Args:
        labelled: False takes the images alone, whose maps need not be there.
    """
    found = check_pairs(folder, pairs(folder, split, known.hint), known.hint, labelled)
    images = LabelMapImages(f"{known.name} {split}", folder, found, ids, rows, colours)
    if not labelled:
        images.hide_labels()
    if len(images) != known.splits[split]:
        images.name += f" ({len(images):,} of the published {known.splits[split]:,} images)"
    return images


def open_gta5(known: Set, folder: Path, split: str, *, ids: ClassMap, labelled: bool = True) -> Images:
    """Open one split of GTA5; its name says so where the split is not the authors'."""
    images = open_maps(known, folder, split, pairs=gta5_pairs, ids=ids, colours=CITYSCAPES_COLOURS, labelled=labelled)
    images.name += "" if (folder / GTA5_LIST).is_file() else ", split by the order of names"
    return images


def open_pair_of_folders(
    images: Path, labels: Path, classes: Path | None = None, labelled: bool = True
) -> LabelMapImages:
    """Open a user's own images and label maps: two folders with the same names in them, and what the ids mean.

    Args:
        labelled: False takes the images alone.
    """
    hint = "name two folders whose files have the same names"
    ids = None if classes is None or not labelled else read_class_map(classes)
    by_stem = {str(Path(path).with_suffix("")): path for path in (_list(labels, hint) if labelled else ())}
    up, pairs = Path(os.path.relpath(labels, images)), []
    for path in _list(images, hint):
        stem = str(Path(path).with_suffix(""))
        pairs.append((path, str(up / by_stem.get(stem, f"{stem}.png"))))
    found = LabelMapImages(f"pairs {images.name}", images, check_pairs(images, pairs, hint, labelled), ids)
    if not labelled:
        found.hide_labels()
    return found


def check_pairs(folder: Path, pairs: Pairs, hint: str, labelled: bool = True) -> Pairs:
    """Return the pairs, every map of which must be there if it is wanted."""
    if not pairs:
        raise FileNotFoundError(f"{folder}: no images; {hint}")
    missing = [path for _, path in pairs if labelled and not (folder / path).is_file()]
    if missing:
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        raise FileNotFoundError(f"{folder / missing[0]}: no such label map{more}, though its image is there; {hint}")
    return pairs


def scene_format(
    pairs: Callable[[Path, str, str], Pairs], ids: ClassMap, splits: Sequence[tuple[str, str]], rows: float = 1.0
) -> Format:
    """Return the format of a set: how its pairs are found, what its ids mean, and the folder that shows each split."""

    def list_pieces(folder: Path) -> list[str]:
        return [split for split, inside in splits if (folder / inside).exists()]

    return Format(partial(open_maps, pairs=pairs, ids=ids, rows=rows), list_pieces, ("labelled",))


def _list(folder: Path, hint: str) -> list[str]:
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no such folder; {hint}")
    return list_images(folder)
