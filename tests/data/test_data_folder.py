import multiprocessing
import sys
from pathlib import Path

import numpy as np
import pytest

from tent.data.data_folder import cache_folder, data_folder, folder_size, lock_set
from tent.data.sets.arrays import new_array, save_text


def test_the_root_is_what_is_given_then_told_then_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("TENT_DATA", str(tmp_path / "told"))
    assert data_folder(tmp_path) == tmp_path
    assert data_folder() == tmp_path / "told"
    monkeypatch.delenv("TENT_DATA")
    assert data_folder() == cache_folder()


@pytest.mark.parametrize(
    ("platform", "variable", "expected"),
    [
        ("linux", "XDG_CACHE_HOME", "x/tent"),
        ("win32", "LOCALAPPDATA", "x/tent/Cache"),
    ],
)
def test_the_cache_lies_where_the_platform_keeps_it(monkeypatch, platform, variable, expected):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv(variable, "x")
    assert cache_folder() == Path(expected)
    monkeypatch.delenv(variable)
    assert cache_folder().is_relative_to(Path.home())


def test_the_cache_of_a_mac_is_in_its_library(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_folder() == Path.home() / "Library" / "Caches" / "tent"


def test_a_file_is_whole_or_not_there(tmp_path):
    def half():
        with new_array(tmp_path / "a.npy", (4,)) as array:
            array[:2] = 1
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert list(tmp_path.iterdir()) == []
    with new_array(tmp_path / "a.npy", (4,)) as array:
        array[:] = 7
        assert not (tmp_path / "a.npy").exists()
    assert np.load(tmp_path / "a.npy").tolist() == [7] * 4
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]


def test_a_failed_write_leaves_the_file_that_was_there(tmp_path):
    save_text(tmp_path / "a.txt", "old")
    with pytest.raises(UnicodeEncodeError):
        save_text(tmp_path / "a.txt", "\ud800")
    assert (tmp_path / "a.txt").read_text() == "old"


def _try_to_lock(folder, answer):
    try:
        with lock_set(folder):
            answer.put("locked")
    except BlockingIOError as error:
        answer.put(str(error))


def test_two_processes_do_not_write_one_set(tmp_path):
    pytest.importorskip("fcntl")
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    with lock_set(tmp_path / "set"):
        other = context.Process(target=_try_to_lock, args=(tmp_path / "set", answer))
        other.start()
        assert "another process is writing" in answer.get(timeout=60)
        other.join()
    with lock_set(tmp_path / "set"):
        pass


def test_the_size_of_a_folder_is_that_of_its_files(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "a").write_bytes(b"123")
    (tmp_path / "in" / "b").write_bytes(b"4567")
    assert folder_size(tmp_path) == (7, True)
    assert folder_size(tmp_path, most=0) == (3, False)
    assert folder_size(tmp_path / "none") == (0, True)
