"""Pictures of figures' numbers; no model is run."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tent.analysis.draw.changes import draw_change_of_loss
from tent.analysis.draw.confusions import draw_confusion
from tent.analysis.draw.entropy_error import draw_error_by_entropy
from tent.analysis.draw.feature_panels import draw_distances, draw_features
from tent.analysis.draw.levels import draw_levels
from tent.analysis.draw.movement_lines import draw_movement
from tent.analysis.draw.reliability_diagram import draw_calibration
from tent.analysis.draw.stream_panels import draw_stream
from tent.analysis.draw.type_bars import draw_error_by_type
from tent.analysis.numbers import Numbers
from tent.plotting import save_figure

PICTURES: dict[str, dict[str, Callable[[Numbers, str], Any]]] = {  # by the name of a picture beside its figure's own
    "error-by-entropy": {"": draw_error_by_entropy},
    "loss-by-level": {"": draw_levels},
    "error-by-type": {"": draw_error_by_type},
    "change-of-loss": {"": draw_change_of_loss},
    "features": {"": draw_features, "distances": draw_distances},
    "calibration": {"": draw_calibration},
    "confusion": {"": draw_confusion},
    "movement": {"": draw_movement},
    "stream": {"": draw_stream},
}


def draw(numbers: Numbers, folder: Path, title: str = "", formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Draw a figure's numbers into a folder, and return the files."""
    files: list[Path] = []
    for name, picture in PICTURES[numbers.figure].items():
        path = folder / "-".join(filter(None, (numbers.figure, name)))
        files += save_figure(picture(numbers, title), path, formats)
    return files
