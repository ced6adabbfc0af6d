"""What killed writers leave is removed by the next one that holds the lock, and nobody else's files are."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tent.files import atomic_write, lock

KILLED = """
import os, signal, sys
from pathlib import Path
from tent.files import atomic_write
with atomic_write(Path(sys.argv[1])) as partial:
    partial.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_the_next_holder_of_the_lock_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    mine, other = tmp_path / "card[1].json", tmp_path / "card.json"
    with atomic_write(mine) as partial:
        partial.write_text("whole")
    for path in (mine, other):
        killed = subprocess.run([sys.executable, "-c", KILLED, os.fspath(path)])
        assert killed.returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob(".*making"))) == 2
    with lock(tmp_path / ".lock", "busy", [mine]):
        assert [path.name.split(".json")[0] for path in tmp_path.glob(".*making")] == [".card"]
    assert mine.read_text() == "whole"
    assert not other.exists()


def test_a_lock_that_is_not_had_removes_nothing(tmp_path: Path) -> None:
    path, busy = tmp_path / "a.json", "a.json: is being written"
    with lock(tmp_path / ".lock", busy, [path]), atomic_write(path) as partial:
        partial.write_text("whole")
        with pytest.raises(BlockingIOError, match=busy), lock(tmp_path / ".lock", busy, [path]):
            pass
    assert path.read_text() == "whole"


def test_one_who_waits_gets_the_lock_when_it_is_free(tmp_path: Path) -> None:
    order: list[str] = []

    def wait() -> None:
        with lock(tmp_path / ".lock", "", wait=True):
            order.append("second")

    thread = threading.Thread(target=wait)
    with lock(tmp_path / ".lock", ""):
        thread.start()
        time.sleep(0.1)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
