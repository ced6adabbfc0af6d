import hashlib
import os
import subprocess
import sys
import time

import made
import pytest

from tent.data.fetch.download import download, part_path, verify
from tent.data.sets.published import File, silent

BODY = made.pixels(3_000_000).tobytes()
MD5 = hashlib.md5(BODY).hexdigest()


@pytest.fixture
def file(server):
    server.files["a.bin"] = BODY
    return File("a.bin", f"{server.url}/a.bin", ("all",), len(BODY), MD5)


def fetch(file, to):
    download(file, to, silent, pause=0)


def test_a_file_arrives_whole_and_nothing_is_left_beside_it(server, file, tmp_path):
    said = []
    download(file, tmp_path / "in" / "a.bin", lambda *about: said.append(about), pause=0)
    assert (tmp_path / "in" / "a.bin").read_bytes() == BODY
    assert os.listdir(tmp_path / "in") == ["a.bin"]
    assert ("fetching a.bin", len(BODY), len(BODY)) in said
    assert said[-1] == ("checking a.bin", len(BODY), len(BODY))


def test_a_dropped_connection_is_taken_up_where_it_ended(server, file, tmp_path):
    server.drops = 2
    fetch(file, tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == BODY
    assert server.ranges == [None, f"bytes={len(BODY) // 2}-", f"bytes={len(BODY) * 3 // 4}-"]


def test_what_an_earlier_run_fetched_is_built_upon(server, file, tmp_path):
    part_path(tmp_path / "a.bin").write_bytes(BODY[:1_000_000])
    fetch(file, tmp_path / "a.bin")
    assert server.ranges == ["bytes=1000000-"]
    assert (tmp_path / "a.bin").read_bytes() == BODY


KILLED = """
import sys
from pathlib import Path
from tent.data.fetch.download import download
from tent.data.sets.published import File
def slow(what, done, total):
    print(done, flush=True)
    import time; time.sleep(60)
download(File("a.bin", sys.argv[1], ("all",)), Path(sys.argv[2]), slow)
"""


def test_a_killed_run_is_taken_up_by_the_next(server, file, tmp_path):
    server.tags["a.bin"] = '"one"'
    command = [sys.executable, "-c", KILLED, file.url, str(tmp_path / "a.bin")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as run:
        run.stdout.readline()
        run.kill()
    assert not (tmp_path / "a.bin").exists()
    deadline = time.monotonic() + 10
    while not part_path(tmp_path / "a.bin").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    fetch(file, tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == BODY


def test_a_whole_part_needs_no_more(server, file, tmp_path):
    part_path(tmp_path / "a.bin").write_bytes(BODY)
    fetch(file, tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == BODY


def test_a_part_that_is_too_long_is_started_over(server, file, tmp_path):
    part_path(tmp_path / "a.bin").write_bytes(BODY + b"more")
    fetch(file, tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == BODY


def test_a_server_without_ranges_sends_all_again(server, file, tmp_path):
    server.deaf = True
    part_path(tmp_path / "a.bin").write_bytes(b"x" * 1_000_000)
    fetch(file, tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == BODY


def test_a_file_that_changed_at_the_server_is_not_mixed_with_the_old(server, tmp_path):
    server.files["a.bin"], server.tags["a.bin"] = BODY, '"one"'
    unsigned = File("a.bin", f"{server.url}/a.bin", ("all",))
    server.drops = 100
    other = made.pixels(3_000_000, seed=1).tobytes()
    real = server.answer

    def change(to):
        real(to)
        server.files["a.bin"], server.tags["a.bin"], server.drops = other, '"two"', 0

    server.answer = change
    fetch(unsigned, tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == other


def test_without_a_sum_or_a_tag_a_part_is_not_trusted(server, tmp_path):
    server.files["a.bin"] = BODY
    part_path(tmp_path / "a.bin").write_bytes(b"x" * 1_000_000)
    fetch(File("a.bin", f"{server.url}/a.bin", ("all",)), tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == BODY


@pytest.mark.parametrize("wrong", [{"bytes": 5}, {"md5": "0" * 32}, {"sha256": "0" * 64}])
def test_a_file_that_is_not_what_was_published_is_refused_and_deleted(server, tmp_path, wrong):
    server.files["a.bin"] = b"other bytes"
    with pytest.raises(ValueError, match=r"a\.bin.*was published|were published"):
        fetch(File("a.bin", f"{server.url}/a.bin", ("all",), **wrong), tmp_path / "a.bin")
    assert os.listdir(tmp_path) == []


def test_sha256_is_looked_at_before_md5(tmp_path):
    (tmp_path / "a.bin").write_bytes(BODY)
    verify(File("a.bin", None, ("all",), None, "0" * 32, hashlib.sha256(BODY).hexdigest()), tmp_path / "a.bin", silent)


def test_a_server_in_trouble_is_asked_again(server, file, tmp_path):
    server.failures = [503, 429]
    fetch(file, tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == BODY
    server.failures = [500] * 9
    with pytest.raises(ConnectionError, match="500"):
        fetch(file, tmp_path / "b.bin")


def test_a_file_that_is_not_there_is_not_asked_for_again(server, tmp_path):
    with pytest.raises(OSError, match="the server said 404"):
        fetch(File("b.bin", f"{server.url}/b.bin", ("all",)), tmp_path / "b.bin")
    assert len(server.ranges) == 1


def test_nobody_there(dead_url, tmp_path):
    with pytest.raises(ConnectionError, match="refused"):
        fetch(File("a.bin", f"{dead_url}/a.bin", ("all",)), tmp_path / "a.bin")


def test_a_disk_that_is_too_small_is_told_beforehand(server, tmp_path):
    with pytest.raises(OSError, match="are free"):
        fetch(File("a.bin", f"{server.url}/a.bin", ("all",), 10**18), tmp_path / "a.bin")
    assert server.ranges == []


def test_a_server_that_drops_and_refuses_ranges_is_given_up(server, file, tmp_path):
    server.drops, server.unsatisfiable = 100, True
    with pytest.raises(ConnectionError, match=r"a\.bin"):
        fetch(file, tmp_path / "a.bin")
    assert len(server.ranges) < 12


def test_a_server_that_refuses_ranges_but_sends_all_is_enough(server, file, tmp_path):
    server.drops, server.unsatisfiable = 1, True
    fetch(file, tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == BODY


@pytest.mark.parametrize("endless", [True, False])
def test_no_more_is_taken_than_was_published(server, tmp_path, endless):
    server.files["a.bin"], server.endless = bytes(50_000_000), endless
    said = []
    with pytest.raises(ValueError, match=r"a\.bin: .*more than the 1,000 bytes that were published"):
        download(File("a.bin", f"{server.url}/a.bin", ("all",), 1000), tmp_path / "a.bin", lambda *a: said.append(a), 0)
    assert all(done <= 1 << 21 for _, done, _ in said)
    assert os.listdir(tmp_path) == []
