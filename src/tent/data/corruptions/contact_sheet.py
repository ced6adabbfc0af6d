"""A picture of every type side by side: python -m tent.data.corruptions.contact_sheet IMAGES.npy OUT.png."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from tent.data.corruptions.apply import CORRUPTIONS, corrupt
from tent.data.corruptions.filters import Images
from tent.files import atomic_write

_COLUMNS = 5
_CAPTION = 16


def sheet(images: Images, severity: int, side: int = 96) -> Image.Image:
    """Draw the clean images and each type of them, with its name, side by side."""
    cells = {"clean": images} | {
        type: corrupt(images, type, severity, constants="cifar", frost="made") for type in CORRUPTIONS
    }
    width, height = len(images) * side + 6, side + _CAPTION + 4
    page = Image.new("RGB", (_COLUMNS * width - 6, -(-len(cells) // _COLUMNS) * height), "white")
    pen = ImageDraw.Draw(page)
    for place, (name, cell) in enumerate(cells.items()):
        left, top = place % _COLUMNS * width, place // _COLUMNS * height
        pen.text((left, top + 2), name.replace("_", " "), fill="black")
        strip = Image.fromarray(np.concatenate(list(cell), axis=1))
        page.paste(strip.resize((len(images) * side, side), Image.Resampling.NEAREST), (left, top + _CAPTION))
    return page


def main(line: Sequence[str] | None = None) -> None:
    """Read images, draw the picture, and put it in its place when it is whole."""
    parser = argparse.ArgumentParser(prog="python -m tent.data.corruptions.contact_sheet", description=sheet.__doc__)
    parser.add_argument("images", type=Path, help="an .npy file of uint8 images, (n, height, width, 3)")
    parser.add_argument("out", type=Path, help="the picture to write, .png")
    parser.add_argument("--rows", type=int, nargs="+", default=[0, 3, 7], help="which images to show")
    parser.add_argument("--severity", type=int, default=5)
    given = parser.parse_args(line)
    every = np.load(given.images, mmap_mode="r")
    if not all(0 <= row < len(every) for row in given.rows):
        parser.error(f"--rows must be from 0 to {len(every) - 1}, not {given.rows}")
    with atomic_write(given.out) as beside:
        sheet(np.asarray(every[given.rows]), given.severity).save(beside, "PNG", optimize=True)


if __name__ == "__main__":
    main()
