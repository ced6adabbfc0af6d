"""Sets that other libraries bring: torchvision's by the name of their class, Hugging Face's by their own."""

import hashlib
import inspect
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tent.data.sets.images import Each, Images, Labels, Pixels, check_labels


class HubImages(Images):
    """Images of another library's set, one at a time."""

    def __init__(
        self,
        name: str,
        length: int,
        pixels: Callable[[int], Any],
        labels: Labels | None,
        classes: int | None,
        class_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, labels, classes, class_names)
        self._length, self._read = length, pixels

    def __len__(self) -> int:
        return self._length

    def fetch(self, indices: NDArray[np.int64], each: Each | None = None) -> Pixels | list[Pixels]:
        """Return these images as a list."""
        images = [_to_pixels(self._read(int(index)), f"{self.name}, image {index}") for index in indices]
        return images if each is None else [each(image) for image in images]

    def where(self, index: int) -> str:
        """Return the place in the other library's set."""
        return f"{self.name}[{range(len(self))[index]}]"

    @cached_property
    def sha256(self) -> str:
        """The hash of name, length, labels and the first image; the rest is the other library's to vouch for."""
        digest = hashlib.sha256(f"{self.name}\0{len(self)}\0".encode())
        if self.labels is not None:
            digest.update(self.labels.astype("<i8").tobytes())
        if len(self):
            digest.update(np.ascontiguousarray(self.fetch(np.array([0]))[0]).tobytes())
        return digest.hexdigest()


def open_torchvision(name: str, split: str, root: Path, options: dict[str, Any]) -> Images:
    """Open one of torchvision's sets; `download=True` lets it fetch what is missing."""
    try:
        from torchvision import datasets
    except ImportError as error:
        raise ImportError("torchvision's sets need torchvision; pip install 'tent-tta[vision]'") from error
    kind = getattr(datasets, name, None)
    if not inspect.isclass(kind) or not issubclass(kind, datasets.VisionDataset):
        raise ValueError(
            f"torchvision has no set called {name!r}; names are those of its classes, such as FashionMNIST"
        )
    takes = inspect.signature(kind).parameters
    offered = {"root": str(root), "split": split, "train": split == "train"}
    try:
        found = kind(**{key: value for key, value in offered.items() if key in takes} | options)
    except (RuntimeError, TypeError, ValueError, OSError) as error:
        raise ValueError(f"torchvision:{name} did not open: {error}; download=True fetches it, where it can") from error
    names = getattr(found, "classes", None)
    return wrap_dataset(f"torchvision {name} {split}", found, names if isinstance(names, (list, tuple)) else None)


def wrap_dataset(name: str, found: Any, class_names: Sequence[str] | None = None) -> HubImages:
    """Wrap any sized set whose items are (image, label)."""
    answers = next((getattr(found, key) for key in ("targets", "labels", "_labels") if hasattr(found, key)), None)
    if answers is None:  # then only the items themselves tell
        answers = [found[place][1] for place in range(len(found))]
    return _label(name, len(found), lambda place: found[place][0], answers, class_names)


def open_hugging_face(name: str, split: str, options: dict[str, Any]) -> Images:
    """Open one of the hub's sets, or one that `save_to_disk` left in a folder; no code of the set's own is run.

    Options: `image` and `label`, the columns, where their types do not tell; `config`; `data_files`.
    """
    try:
        import datasets
    except ImportError as error:
        raise ImportError("hf: sets need the datasets package; pip install 'tent-tta[hf]'") from error
    columns: dict[str, str] = {key: options.pop(key) for key in ("image", "label") if key in options}
    try:
        if (Path(name).expanduser() / "state.json").is_file():
            table = datasets.load_from_disk(str(Path(name).expanduser()))
        else:
            table = datasets.load_dataset(name, options.pop("config", None), split=split, **options)
    except (OSError, ValueError, RuntimeError, TypeError) as error:
        said = str(error).split("\n")[0]
        raise ValueError(
            f"hf:{name} did not open: {said}; without a network, save_to_disk it elsewhere and name its folder"
        ) from error
    return _open_table(f"hf {name} {split}", table, columns, datasets)


def _open_table(name: str, table: Any, columns: dict[str, str], datasets: Any) -> Images:
    features = table.features
    of_type = {
        "image": [key for key, kind in features.items() if isinstance(kind, datasets.Image)],
        "label": [key for key, kind in features.items() if isinstance(kind, datasets.ClassLabel)],
    }
    image = columns.get("image") or (of_type["image"] + [""])[0]
    label = columns.get("label") or (of_type["label"] + [""])[0]
    for column in filter(None, (image or "an image", label)):
        if column not in features:
            raise ValueError(f"{name}: no column {column!r}; say image= and label= of {', '.join(features)}")
    names = getattr(features[label], "names", None) if label else None
    if not label:
        return HubImages(name, len(table), lambda place: table[place][image], None, None)
    return _label(name, len(table), lambda place: table[place][image], table[label][:], names)


def _label(
    name: str, length: int, pixels: Callable[[int], Any], answers: Any, class_names: Sequence[str] | None
) -> HubImages:
    labels = check_labels(np.asarray(answers), name, length, len(class_names) if class_names else None)
    classes = len(class_names) if class_names else int(labels.max()) + 1 if len(labels) else None
    return HubImages(name, length, pixels, labels, classes, class_names)


def _to_pixels(image: Any, name: str) -> Pixels:
    if hasattr(image, "convert"):
        return np.asarray(image.convert("RGB"))
    pixels = np.asarray(image)
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3):
        raise ValueError(f"{name}: an image is uint8 (h, w) or (h, w, c), not {pixels.dtype} of shape {pixels.shape}")
    return pixels if pixels.ndim == 3 else pixels[..., None]
