"""One corruption of a set of image files: its type, strength and draws, and how images are framed and stored."""

import hashlib
import io
from dataclasses import dataclass
from typing import Any

import numpy as np

from tent.data.preprocess import Preprocess, pillow_image
from tent.data.sets.images import Pixels

FRAME = Preprocess(size=256, crop=224)  # what ImageNet-C was made of, and the quality that its files are stored at
QUALITY = 85


@dataclass(frozen=True)
class Corruption:
    """A type at a severity, with the strengths for large images and the draws of a seed.

    Args:
        first: the number of the set's first image, by which random draws are made.
        frost: a folder of photographs, as for `corrupt`.
        frame: how a clean image is resized and cropped before; not at all unless given.
        quality: of the JPEG that the corrupted image is stored as; stored without loss unless given.
    """

    type: str
    severity: int
    seed: int = 0
    first: int = 0
    frost: str | None = None
    frame: Preprocess | None = None
    quality: int | None = None

    def __post_init__(self) -> None:
        from tent.data.corruptions.constants import IMAGENET

        if self.type not in IMAGENET:
            raise ValueError(f"no corruption is called {self.type!r}; choose one of {', '.join(IMAGENET)}")

    def apply(self, pixels: Pixels, place: int) -> Pixels:
        """Return the image at a place of the set, framed before (h, w, 3), corrupted by its own draws."""
        from tent.data.corruptions import corrupt

        own, frost = self.first + place, self.frost if self.type == "frost" else None
        options: dict[str, Any] = {"seed": self.seed, "start": own, "constants": "imagenet", "frost": frost}
        return np.asarray(corrupt(pixels[None], self.type, self.severity, **options)[0])

    def encode(self, pixels: Pixels, **options: Any) -> bytes:
        """Return the bytes of the file that a corrupted image is stored as.

        Args:
            options: of Pillow's writer, which change the bytes and not the pixels.
        """
        file, loss = io.BytesIO(), {} if self.quality is None else {"quality": self.quality}
        pillow_image().fromarray(pixels).save(file, "PNG" if self.quality is None else "JPEG", **loss, **options)
        return file.getvalue()

    def store(self, pixels: Pixels) -> Pixels:
        """Return a corrupted image as it would be read from its file."""
        if self.quality is None:
            return pixels
        return np.asarray(pillow_image().open(io.BytesIO(self.encode(pixels))))

    def describe(self) -> dict[str, int | str | None]:
        """Return what tells images of this type and severity from others of the same name."""
        from tent.data.corruptions.constants import GENERATION
        from tent.data.corruptions.frost import describe_pictures

        pictures = describe_pictures(self.frost) if self.type == "frost" else None
        return {"generation": GENERATION, "seed": self.seed, "frost": pictures}

    def digest(self, clean: str) -> str:
        """Return the hash of all that decides the corrupted images of a clean set, whose own hash is given."""
        from tent.data.corruptions.constants import IMAGENET

        generation, seed, frost = self.describe().values()
        strength = IMAGENET[self.type][self.severity - 1]
        frame = None if self.frame is None else self.frame.words
        parts = (clean, self.type, self.severity, strength, generation, seed, self.first, frost, frame)
        return hashlib.sha256(repr((*parts, self.quality)).encode()).hexdigest()
