"""From published archives to folders of images: ImageNet and its kin, and VisDA-C."""

import io
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import numpy as np

from tent.data.fetch.archive import Content, extract, members
from tent.data.fetch.mat import read_mat
from tent.data.preprocess import pillow_image
from tent.data.sets.folders import is_image, open_image_list
from tent.data.sets.images import Pixels
from tent.data.sets.published import Progress

Files = Mapping[str, Path]
KIT, VALIDATION = "ILSVRC2012_devkit_t12.tar.gz", "ILSVRC2012_img_val.tar"
AGAIN = "delete it and fetch it again"


def unpack_images(files: Files, folder: Path, progress: Progress) -> None:
    """Lay archives out as they are: ImageNet-C's type/severity/class, ImageNetV2's version/class."""
    for path in files.values():
        if not extract(path, folder, progress, lambda inside: inside if is_image(inside.name) else None):
            raise ValueError(f"{path}: no image in it; {AGAIN}")


def visda(files: Files, folder: Path, progress: Progress) -> None:
    """Lay VisDA-C's splits out, and see that every image its lists name is there."""
    for name, path in files.items():
        split = name.removesuffix(".tar")

        def inside(member: PurePosixPath) -> PurePosixPath | None:
            return member if is_image(member.name) or member.name == "image_list.txt" else None

        extract(path, folder, progress, inside)
        labels = tuple(str(number) for number in range(12))
        found = open_image_list(name, folder / split, "image_list.txt", labels, f"{path} is not whole: {AGAIN}")
        for place in range(len(found)):
            if not (folder / split / found.where(place)).is_file():
                raise ValueError(f"{path}: it lacks {found.where(place)}, which its list names; {AGAIN}")


def imagenet(files: Files, folder: Path, progress: Progress) -> None:
    """Sort ImageNet's validation images into one folder a class, by the truth in its development kit."""
    classes, truth = _kit(files[KIT], progress)

    def place(inside: PurePosixPath) -> PurePosixPath | None:
        if not is_image(inside.name):
            return None
        number = inside.stem.rpartition("_")[2]  # ILSVRC2012_val_00000001.JPEG
        if not number.isdecimal() or not 1 <= int(number) <= len(truth):
            raise ValueError(f"{files[VALIDATION]}: {inside.name!r} is no validation image; {AGAIN}")
        return PurePosixPath("val", classes[truth[int(number) - 1]], inside.name)

    count = extract(files[VALIDATION], folder, progress, place)
    if count != len(truth):
        raise ValueError(f"{files[VALIDATION]}: {count:,} images for {len(truth):,} labels; {AGAIN}")


def decode(content: Content, name: str) -> Pixels:
    """Return one image of an archive in colour."""
    try:
        with pillow_image().open(io.BytesIO(content.read())) as image:
            return np.asarray(image.convert("RGB"))
    except (OSError, ValueError, SyntaxError) as error:
        raise ValueError(f"{name}: not a whole image ({error}); {AGAIN}") from error


def _kit(path: Path, progress: Progress) -> tuple[dict[int, str], list[int]]:
    truth: list[int] = []
    classes: dict[int, str] = {}
    for inside, content in members(path, progress):
        if inside.name == "ILSVRC2012_validation_ground_truth.txt":
            truth = [int(line) for line in content.read().decode("ascii").split()]
        elif inside.name == "meta.mat":
            classes = _classes(content.read(), path)
    if not truth or not classes or not set(truth) <= set(classes):
        raise ValueError(f"{path}: no ground truth and class names in it; {AGAIN}")
    return classes, truth


def _classes(raw: bytes, kit: Path) -> dict[int, str]:
    table = read_mat(raw, f"{kit}: meta.mat").get("synsets")
    if not isinstance(table, dict) or not {"ILSVRC2012_ID", "WNID", "num_children"} <= set(table):
        raise ValueError(f"{kit}: its meta.mat has no table of classes; {AGAIN}")
    rows = zip(table["ILSVRC2012_ID"], table["WNID"], table["num_children"], strict=True)
    return {int(number.flat[0]): str(name) for number, name, children in rows if not children.flat[0]}
