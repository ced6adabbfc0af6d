"""What every picture needs: matplotlib without a screen, files that are whole, and a running mean."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tent.files import atomic_write, check_file


def pyplot() -> Any:
    """Return matplotlib's pyplot, drawing to files alone, or say how to get it."""
    try:
        import matplotlib
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError("plots need matplotlib: pip install 'tent-tta[bench]'") from missing
    matplotlib.use("agg")
    import matplotlib.pyplot

    return matplotlib.pyplot


def has_matplotlib() -> bool:
    """Tell whether pictures can be drawn."""
    try:
        pyplot()
    except ModuleNotFoundError:
        return False
    return True


def check_picture(path: Path) -> None:
    """Say so if no picture can be drawn to this file."""
    check_file(path)
    formats = pyplot().Figure().canvas.get_supported_filetypes()
    if path.suffix[1:] not in ("", *formats):
        raise ValueError(f"{path}: pictures are written as {', '.join(formats)}, not as {path.suffix}")


def save(figure: Any, path: Path) -> None:
    """Write a figure beside and rename it, and let it go."""
    with atomic_write(path) as partial:
        figure.savefig(partial, dpi=130, format=path.suffix[1:] or "png")
    pyplot().close(figure)


def running_mean(values: Sequence[float], window: int) -> list[float]:
    """Return the mean over the last values, as many as the window or as there are."""
    return [float(np.mean(values[max(0, i + 1 - window) : i + 1])) for i in range(len(values))]
