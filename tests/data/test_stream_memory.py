"""What a stream holds in memory: a batch, whatever the size of the set."""

import os
import subprocess
import sys
import tracemalloc
import weakref

import made
import numpy as np
import pytest
import torch

from tent.data import Stream
from tent.data.sets.arrays import open_pair


@pytest.fixture
def large(tmp_path):
    """30 MB of images on disk, as CIFAR-10's test set."""
    made.arrays(tmp_path, "test", np.zeros((10_000, 32, 32, 3), dtype=np.uint8), np.zeros(10_000, dtype=np.int64))
    return open_pair("large", tmp_path / "test_images.npy", tmp_path / "test_labels.npy", "", classes=10)


BATCH = 128 * 32 * 32 * 3  # the bytes of one batch, a byte a value


PEAK = """
import sys
from pathlib import Path
from tent.data import Preprocess, Stream, load

def held():  # the bytes in use that are no mapped file's
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))

stream = Stream(load(f"npy:{sys.argv[1]}"), 128, preprocess=Preprocess(mean=(0.5,) * 3, std=(0.2,) * 3))
for _ in stream.first(256):
    pass
del _
before = held()
print(max(held() for _ in stream) - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc, and tells glibc what to do")
def test_memory_beyond_the_mapped_file_is_a_batch(large, tmp_path):
    # every large block is given back to the system at once, so that what is held is what is in use
    plain = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", PEAK, str(tmp_path / "test_images.npy")]
    ran = subprocess.run(command, env=plain, capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 1.5 * 4 * BATCH  # one batch, four bytes a value, and small change; the set is 78


def test_the_stream_keeps_no_batch_that_it_handed_out(large):
    alive: list[weakref.ref[torch.Tensor]] = []
    for x, _, _ in Stream(large, 128):
        alive = [each for each in alive if each() is not None]
        assert len(alive) <= 1  # the loop's own, until the name is bound anew
        alive.append(weakref.ref(x))


def test_numpy_allocates_one_batch_at_a_time(large):
    stream = Stream(large, 128)
    list(stream.first(256))
    tracemalloc.start()
    for _ in stream:
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * BATCH
