"""Damaged files: every reader says so in a ValueError that names the file, whatever the damage."""

import bz2
import gzip
import pickle
import struct
import zlib

import made
import numpy as np
import pytest
from damage import damaged

from tent.data.fetch.digit_files import read_idx, read_usps
from tent.data.fetch.mat import read_mat
from tent.data.fetch.pickles import read_pickle
from tent.data.sets.arrays import open_pixels

ROWS = [{"id": made.mat_numbers("", np.array([[float(i)]])), "name": made.mat_text("", f"n{i}")} for i in range(3)]
VARIABLES = (made.mat_numbers("X", made.pixels(2, 3, 4)), made.mat_struct("table", ROWS), made.mat_text("t", "hello"))
PLAIN_MAT = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM" + b"".join(VARIABLES)
SAMPLES = {
    "mat": PLAIN_MAT,
    "packed mat": made.mat(*VARIABLES),
    "python 2 pickle": made.python2_batch(made.pixels(2, 30), [1, 2]),
    "pickle": pickle.dumps({"data": made.pixels(2, 30), "labels": [1, 2], "x": (1.5, b"b", "t")}, protocol=2),
    "idx": gzip.decompress(made.idx(made.pixels(3, 4, 4))),
    "packed idx": made.idx(made.pixels(3, 4, 4)),
    "npy": made.npy(made.pixels(3, 4, 4, 3)),
    "usps": made.usps(made.pixels(2, 16, 16, 1), np.arange(2)),
}


def read(kind, raw, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(raw)
    if "mat" in kind:
        read_mat(raw, path)
    elif "pickle" in kind:
        read_pickle(raw, str(path))
    elif kind == "npy":
        open_pixels(path, "get it again")
    else:
        (read_usps if kind == "usps" else read_idx)(path)


@pytest.mark.filterwarnings("ignore")  # python's remarks on strange escapes in a pickle
@pytest.mark.parametrize("kind", SAMPLES)
def test_damage_is_a_value_error_that_names_the_file(kind, tmp_path):
    for raw in damaged(SAMPLES[kind]):
        said = ""
        try:
            read(kind, raw, tmp_path)
        except ValueError as error:
            said = str(error)
        assert not said or str(tmp_path / "file") in said


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("packed idx", gzip.compress(struct.pack(">HBBI", 0, 8, 1, 30_000_000) + bytes(30_000_000))),
        ("usps", bz2.compress(bytes(30_000_000))),
        (
            "packed mat",
            made.mat()[:128] + (lambda z: struct.pack("<II", 15, len(z)) + z)(zlib.compress(bytes(30_000_000))),
        ),
    ],
    ids=["idx", "usps", "mat"],
)
def test_a_file_that_unpacks_without_bounds_is_refused(kind, raw, tmp_path, monkeypatch):
    monkeypatch.setattr("tent.data.fetch.archive.ROOM", 1_000_000)
    with pytest.raises(ValueError, match="unpacks to more than"):
        read(kind, raw, tmp_path)
