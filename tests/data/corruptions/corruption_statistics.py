"""What is compared with the published generator: numbers over a batch of corrupted images and its clean one.

Writes the extract that the tests carry: python corruption_statistics.py REFERENCE.npz CLEAN.npy > published.json
"""

import json
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

# without randomness: these can be compared image by image
EXACT = (
    "contrast",
    "brightness",
    "saturate",
    "pixelate",
    "jpeg_compression",
    "gaussian_blur",
    "defocus_blur",
    "zoom_blur",
)
# upper ends of the bands of spatial frequency, in cycles over 32 pixels
BANDS = (2, 4, 8, 17)


def distance(clean: NDArray[np.uint8], corrupted: NDArray[np.uint8]) -> float:
    """Take the root mean square distance, in 8-bit values."""
    return float(np.sqrt(((corrupted.astype(float) - clean) ** 2).mean()))


def statistics(clean: NDArray[np.uint8], corrupted: NDArray[np.uint8]) -> dict[str, Any]:
    """Measure mean, distance, colours, contrast of pixels and of images, and the distance's power in four bands."""
    y = corrupted.astype(float)
    difference = (y - clean).mean(-1)
    power = np.abs(np.fft.fft2(difference)) ** 2 / difference[0].size ** 2
    side = np.fft.fftfreq(difference.shape[1]) * 32
    cycles = np.hypot(side[:, None], side)
    ends = (0, *BANDS)
    bands = [power[:, (cycles > low) & (cycles <= high)].sum(-1).mean() for low, high in zip(ends, BANDS, strict=False)]
    return {
        "mean": y.mean(),
        "distance": distance(clean, corrupted),
        "colour": y.mean((0, 1, 2)).tolist(),
        "contrast": y.std((1, 2, 3)).mean(),
        "bands": np.sqrt(bands).tolist(),
    }


def extract(reference: Any, clean: NDArray[np.uint8]) -> dict[str, Any]:
    """Measure every type and severity; for the exact types the mean of each image as well."""
    out = {}
    for key in sorted(reference.files):
        corrupted = reference[key]
        out[key] = statistics(clean, corrupted)
        if key.rsplit("_", 1)[0] in EXACT:
            out[key]["images"] = corrupted.mean((1, 2, 3)).tolist()
    return out


def rounded(value: Any) -> Any:
    """Keep two digits after the point, all the way down."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    return [rounded(inner) for inner in value] if isinstance(value, list) else round(float(value), 2)


if __name__ == "__main__":
    archive, images = (np.load(path) for path in sys.argv[1:3])
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in rounded(extract(archive, images[:64])).items())
    print("{\n" + ",\n".join(lines) + "\n}")
