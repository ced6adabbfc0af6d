"""Predictions on disk: one row an image, as CSV or Parquet."""

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tent.apps.record import Record
from tent.data.stream import Stream
from tent.files import atomic_write

FORMATS = ("csv", "parquet")
COLUMNS = ("file", "class", "name", "confidence", "entropy", "class_before", "label")


def write_predictions(record: Record, stream: Stream, path: Path) -> None:
    """Write every image's answer, in the stream's order; the ending of the file's name chooses the format."""
    if path.suffix == ".csv":
        with atomic_write(path) as beside, beside.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            writer.writerows(_rows(record, stream))
    elif path.suffix == ".parquet":
        _parquet(record, stream, path)
    else:
        raise ValueError(f"{path.name}: predictions are written as .csv or .parquet")


def _rows(record: Record, stream: Stream) -> Iterator[tuple[object, ...]]:
    after, before = record.after, np.concatenate(record.before.classes)
    classes, sure, spread = (np.concatenate(part) for part in (after.classes, after.confidences, after.entropies))
    labels = np.concatenate(record.labels) if record.labels else None
    for i, answer in enumerate(classes.tolist()):
        label = "" if labels is None else int(labels[i])
        name = record.class_names[answer]
        yield stream.where(i), answer, name, f"{sure[i]:.6f}", f"{spread[i]:.6f}", int(before[i]), label


def _parquet(record: Record, stream: Stream, path: Path) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError("Parquet needs pyarrow: pip install 'tent-tta[parquet]', or write .csv") from missing
    columns = list(zip(*_rows(record, stream), strict=True))
    table = dict(zip(COLUMNS, columns, strict=True))
    for name in ("confidence", "entropy"):
        table[name] = tuple(float(value) for value in table[name])
    if not record.labels:
        table["label"] = (None,) * len(columns[0])
    with atomic_write(path) as beside:
        pyarrow.parquet.write_table(pyarrow.table({name: list(values) for name, values in table.items()}), beside)
