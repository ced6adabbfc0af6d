"""Public models: others trained them, and their weights are fetched once from where they were published."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from torch import nn

from tent.data.data_folder import data_folder
from tent.data.fetch.download import download, verify
from tent.data.preprocess import Preprocess
from tent.data.sets.catalog import get_set
from tent.data.sets.published import File, silent
from tent.files import lock
from tent.models.densenet import DenseNet
from tent.models.entry import Entry
from tent.models.weight_files import load_weights

DICE = "https://raw.githubusercontent.com/deeplearning-wisc/dice/8acfb8d52eee997a7bf6f9d17ff5363fd91ba47b/checkpoints"


@dataclass(frozen=True)
class PublicModel:
    """A network, the file of its weights, and what its inputs are normalised by."""

    network: Callable[[], nn.Module]
    trained_on: str  # a set, for the names of the classes
    file: File
    preprocess: Preprocess
    origin: str


def _densenet(source: str, folder: str, classes: int, size: int, sha256: str) -> PublicModel:
    levels = (125.3, 123.0, 113.9), (63.0, 62.1, 66.7)  # mean and deviation that it was trained with, of 255
    mean, std = (tuple(level / 255 for level in part) for part in levels)
    return PublicModel(
        partial(DenseNet, classes=classes),
        source,
        File(f"densenet-{source}.pth", f"{DICE}/{folder}/densenet/checkpoint_100.pth.tar", (), size, sha256=sha256),
        Preprocess(mean=mean, std=std),
        "deeplearning-wisc/dice (MIT)",
    )


PUBLIC: dict[str, PublicModel] = {
    "densenet-cifar10": _densenet(
        *("cifar10", "CIFAR-10", 10, 3_381_795),
        "deaefd082911a1c6c92aacdcfecf03c71b932acc5c08b779c85c44eccdc0c817",
    ),
    "densenet-cifar100": _densenet(
        *("cifar100", "CIFAR-100", 100, 3_505_315),
        "56cbe261c2612976e11aedcbd60ba00766e8c01c78f96c3f18ff561ead804d47",
    ),
}


def load_public(name: str, pretrained: bool) -> Entry:
    """Return a public model; its weights are fetched unless they are there, or not wanted."""
    public = PUBLIC[name]
    model, known = public.network(), get_set(public.trained_on)
    words = "none: drawn at random"
    if pretrained:
        load_weights(model, name, fetch_weights(public.file))
        words = f"{public.origin}, sha256 {str(public.file.sha256)[:12]}"
    return Entry(name, model, public.preprocess, known.classes, known.class_names, words)


def weights_folder() -> Path:
    """Return the folder that public weights are fetched to, or put in by hand."""
    return data_folder() / "weights"


def fetch_weights(file: File) -> Path:
    """Return the path of a file of weights, fetched if it is not there; any but the published one is refused."""
    path = weights_folder() / file.name
    if path.is_file():
        return _check(file, path)
    with lock(path.with_name(f".{file.name}.lock"), f"{path}: another process is fetching it; wait for its end"):
        try:
            download(file, path, silent)
        except OSError as error:
            raise OSError(f"{error}. With a network try again, or put {file.url} there as {path}") from error
    return path


def _check(file: File, path: Path) -> Path:
    try:
        verify(file, path, silent)
    except ValueError as error:
        raise ValueError(f"{error}; delete it, and it is fetched again") from None
    return path
