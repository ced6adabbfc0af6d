import struct

import made
import numpy as np
import pytest

from tent.data.fetch.mat import read_mat


def test_numbers_text_and_structs():
    rows = [{"id": made.mat_numbers("", np.array([[float(i)]])), "name": made.mat_text("", f"n{i}")} for i in range(3)]
    x = made.pixels(2, 3, 4)
    got = read_mat(made.mat(made.mat_numbers("X", x), made.mat_struct("table", rows), made.mat_text("t", "hello")), "a")
    assert np.array_equal(got["X"], x)
    assert got["table"]["name"] == ["n0", "n1", "n2"]
    assert [float(value[0, 0]) for value in got["table"]["id"]] == [0.0, 1.0, 2.0]
    assert got["t"] == "hello"


def test_it_reads_what_scipy_writes(tmp_path):
    io = pytest.importorskip("scipy.io")
    x = made.pixels(4, 4, 3, 5)
    for compressed in (True, False):
        io.savemat(tmp_path / "a.mat", {"X": x, "y": np.arange(5.0)[:, None]}, do_compression=compressed)
        got = read_mat((tmp_path / "a.mat").read_bytes(), "a")
        assert np.array_equal(got["X"], x)
        assert np.array_equal(got["y"], np.arange(5.0)[:, None])


GOOD = made.mat(made.mat_numbers("X", made.pixels(20, 20)))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        GOOD[:100],
        GOOD[:-1],
        GOOD[:150],
        GOOD[:140] + b"\xff\xff" + GOOD[142:],
        GOOD[:124] + struct.pack("<H", 0x0200) + GOOD[126:],
        GOOD[:126] + b"XX" + GOOD[128:],
        GOOD[:128] + struct.pack("<II", 99, 8) + b"12345678",
    ],
    ids=made.length,
)
def test_a_broken_file_is_refused_by_name(raw):
    with pytest.raises(ValueError, match=r"train\.mat: not a whole MATLAB 5 file"):
        read_mat(raw, "train.mat")


def test_endless_nesting_is_refused():
    cell = made.mat_numbers("", np.zeros((1, 1)))
    for _ in range(50):
        cell = made._matrix("", 1, (1, 1), cell)
    with pytest.raises(ValueError, match="nested too deep"):
        read_mat(made.mat(cell), "a.mat")
