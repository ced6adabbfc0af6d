"""From published files to plain arrays on disk: CIFAR, the digits, and what already comes as arrays."""

import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tent.data.fetch.archive import extract, members
from tent.data.fetch.digit_files import read_idx, read_usps
from tent.data.fetch.folder_layouts import decode
from tent.data.fetch.mat import read_mat
from tent.data.fetch.pickles import read_pickle
from tent.data.sets.arrays import new_array, open_array, open_pixels, save_array, save_text
from tent.data.sets.folders import is_image
from tent.data.sets.images import Labels, Pixels, check_labels
from tent.data.sets.published import Progress

Files = Mapping[str, Path]
CHUNK = 4096  # images rearranged at once
AGAIN = "fetch it again"


def cifar10(files: Files, folder: Path, progress: Progress) -> None:
    """Lay CIFAR-10 out from its python archive."""
    train = tuple(f"data_batch_{number}" for number in range(1, 6))
    _cifar(_only(files), folder, progress, {"train": train, "test": ("test_batch",)}, "batches.meta", "label")


def cifar100(files: Files, folder: Path, progress: Progress) -> None:
    """Lay CIFAR-100 out from its python archive, with its hundred fine labels."""
    _cifar(_only(files), folder, progress, {"train": ("train",), "test": ("test",)}, "meta", "fine_label")


def mnist(files: Files, folder: Path, progress: Progress) -> None:
    """Lay MNIST out from its idx files, those of one split or of both."""
    for split, stem in (("train", "train"), ("test", "t10k")):
        if f"{stem}-images-idx3-ubyte.gz" in files:
            source = files[f"{stem}-images-idx3-ubyte.gz"]
            images, labels = read_idx(source), read_idx(files[f"{stem}-labels-idx1-ubyte.gz"])
            save_split(folder, split, images[..., None], labels, source)
            progress(f"laying out {split}", len(images), len(images))


def usps(files: Files, folder: Path, progress: Progress) -> None:
    """Lay USPS out from its rows of text."""
    for split, name in (("train", "usps.bz2"), ("test", "usps.t.bz2")):
        if name in files:
            images, labels = read_usps(files[name])
            save_split(folder, split, images, labels, files[name])
            progress(f"laying out {split}", len(images), len(images))


def svhn(files: Files, folder: Path, progress: Progress) -> None:
    """Lay SVHN out from its MATLAB files; the digit 0, published as 10, becomes label 0."""
    for split in ("train", "test"):
        if (path := files.get(f"{split}_32x32.mat")) is None:
            continue
        found = read_mat(path.read_bytes(), path)
        images, labels = found.get("X"), found.get("y")
        if images is None or labels is None or images.ndim != 4 or images.dtype != np.uint8:
            raise ValueError(f"{path}: no images X (h, w, 3, n) and labels y in it; delete it and {AGAIN}")
        digits = labels.reshape(-1).astype(np.int64)
        if len(digits) and not 1 <= digits.min() <= digits.max() <= 10:
            raise ValueError(f"{path}: labels are 1 to 10 as published; delete it and {AGAIN}")
        save_split(folder, split, images.transpose(3, 0, 1, 2), digits % 10, path)
        progress(f"laying out {split}", len(digits), len(digits))


def mnist_m(files: Files, folder: Path, progress: Progress) -> None:
    """Lay MNIST-M out from its archive of images and lists of labels."""
    path = _only(files)
    labels: dict[str, dict[str, int]] = {}
    images: dict[str, dict[str, Pixels]] = {"mnist_m_train": {}, "mnist_m_test": {}}
    for inside, content in members(path, progress):
        if inside.name.removesuffix("_labels.txt") in images:
            labels[inside.name.removesuffix("_labels.txt")] = _listed_labels(content.read(), f"{path}: {inside}")
        elif is_image(inside.name) and inside.parent.name in images:
            images[inside.parent.name][inside.name] = decode(content, f"{path}: {inside}")
    for split, listed in labels.items():
        if missing := sorted(set(listed) - set(images[split])):
            raise ValueError(f"{path}: {split} has no {missing[0]}, which its list names; delete it and {AGAIN}")
        pixels = np.stack([images[split][name] for name in listed])
        save_split(folder, split.removeprefix("mnist_m_"), pixels, np.array(list(listed.values())), path)


def copy_arrays(files: Files, folder: Path, progress: Progress) -> None:
    """Lay out files that are published as the arrays they stay."""
    for done, (name, path) in enumerate(files.items(), 1):
        open_array(path, AGAIN)
        shutil.copyfile(path, folder / name)
        progress("laying out", done, len(files))


def cifar_c(files: Files, folder: Path, progress: Progress) -> None:
    """Lay CIFAR-10-C or CIFAR-100-C out: the arrays in its archive, one a type, and their labels."""
    path = _only(files)

    def name(inside: PurePosixPath) -> PurePosixPath | None:
        return PurePosixPath(inside.name) if inside.suffix == ".npy" and not inside.name.startswith(".") else None

    extract(path, folder, progress, name)
    rows = len(open_array(folder / "labels.npy", f"{path} did not hold it; {AGAIN}"))
    for found in folder.glob("*.npy"):
        if found.name != "labels.npy" and len(open_pixels(found, AGAIN)) != rows:
            raise ValueError(f"{path}: {found.name} does not have one image a label; delete it and {AGAIN}")


def save_split(folder: Path, split: str, images: Pixels, labels: NDArray[np.generic], source: Path) -> None:
    """Write one split's images and labels as the plain arrays that every small set lies in."""
    checked: Labels = check_labels(labels, source, len(images), None)
    with new_array(folder / f"{split}_images.npy", images.shape) as out:
        for start in range(0, len(images), CHUNK):
            out[start : start + CHUNK] = images[start : start + CHUNK]
    save_array(folder / f"{split}_labels.npy", checked)


def _cifar(
    path: Path, folder: Path, progress: Progress, splits: dict[str, tuple[str, ...]], meta: str, label: str
) -> None:
    wanted = {meta, *(name for names in splits.values() for name in names)}
    found: dict[str, Any] = {}
    for inside, content in members(path, progress):
        if inside.name in wanted:
            found[inside.name] = read_pickle(content.read(), f"{path}: {inside}")
    if missing := sorted(wanted - set(found)):
        raise ValueError(f"{path}: it holds no {missing[0]}; delete it and {AGAIN}")
    for split, names in splits.items():
        images = [_cifar_images(found[name], f"{path}: {name}") for name in names]
        labels = [np.array(found[name].get(f"{label}s", []), dtype=np.int64) for name in names]
        save_split(folder, split, np.concatenate(images), np.concatenate(labels), path)
    class_names = found[meta].get(f"{label}_names")
    if class_names and all(isinstance(name, str) for name in class_names):
        save_text(folder / "class_names.txt", "\n".join(class_names) + "\n")


def _cifar_images(batch: Any, name: str) -> Pixels:
    data = batch.get("data") if isinstance(batch, dict) else None
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.ndim != 2 or data.shape[1] != 3072:
        raise ValueError(f"{name}: no rows of 3,072 bytes in it; delete the archive and {AGAIN}")
    return data.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)


def _listed_labels(raw: bytes, name: str) -> dict[str, int]:
    try:
        rows = (line.split() for line in raw.decode("ascii").splitlines() if line.strip())
        return {image: int(label) for image, label in rows}
    except ValueError as error:
        raise ValueError(
            f"{name}: not a list of images and labels ({error}); delete the archive and {AGAIN}"
        ) from error


def _only(files: Files) -> Path:
    (path,) = files.values()
    return path
