"""Small street scenes in the published layouts."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tent.data.segments.palette import CITYSCAPES_COLOURS


def picture(path: Path, height: int = 12, width: int = 16, mode: str = "RGB") -> None:
    """Write an image of noise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(len(path.name)).integers(0, 256, (height, width, len(mode)), dtype=np.uint8)
    Image.fromarray(pixels, mode=None).save(path)


def ids(path: Path, values: NDArray[np.uint8] | list[int], palette: bool = False) -> None:
    """Write a label map of 12x16 whose pixels go through these ids, with Cityscapes' palette if wanted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(np.resize(np.array(values, dtype=np.uint8), (12, 16)))
    if palette:
        image.putpalette(np.array([CITYSCAPES_COLOURS.get(id_, (0, 0, 0)) for id_ in range(256)]).ravel().tolist())
        assert image.mode == "P"
    image.save(path)


def cityscapes(root: Path, split: str = "val", names: tuple[str, ...] = ("aachen_000000_000019",)) -> Path:
    for name in names:
        city = name.split("_")[0]
        picture(root / f"leftImg8bit/{split}/{city}/{name}_leftImg8bit.png")
        ids(root / f"gtFine/{split}/{city}/{name}_gtFine_labelIds.png", list(range(34)))
    return root


def pairs(root: Path, values: list[int], palette: bool = False, images: int = 3, mode: str = "RGB") -> Path:
    for i in range(images):
        picture(root / f"images/{i:05d}.png", mode=mode)
        ids(root / f"labels/{i:05d}.png", values, palette)
    return root


def camvid(root: Path) -> Path:
    for split in ("train", "val", "test"):
        picture(root / split / f"{split}_1.png")
        ids(root / f"{split}annot" / f"{split}_1.png", list(range(12)))
    return root
