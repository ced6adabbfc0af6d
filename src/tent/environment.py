"""The machine and the software that a number is made with: versions, commit, hardware, time and memory."""

import ctypes
import hashlib
import platform
import subprocess
import sys
import time
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import torch

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4  # of glibc's malloc.h
AHEAD = 64 << 20  # bytes asked for beyond what is needed


def versions() -> dict[str, str]:
    """Return the software that a number is made with."""
    import tent

    return {
        "tent": tent.__version__,
        "commit": commit(),
        "python": platform.python_version(),
        "torch": str(torch.__version__),  # a class of its own, which no checkpoint may hold
        "numpy": np.__version__,
        "safetensors": safetensors.__version__,
    }


def commit() -> str:
    """Return the commit of the checkout that this package runs from, marked where files differ from it."""
    here = Path(__file__).resolve().parent
    git = ["git", "-C", str(here)]
    try:
        tracked = subprocess.run([*git, "ls-files", __file__], capture_output=True, text=True, check=True, timeout=30)
        if not tracked.stdout.strip():
            return "none"  # installed inside someone else's checkout
        command = [*git, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "none"


@lru_cache(maxsize=1)
def hash_sources() -> str:
    """Return the hash of this package's code as it lies on disk, which also tells apart what is not committed."""
    digest, here = hashlib.sha256(), Path(__file__).resolve().parent
    for path in sorted(here.rglob("*.py")):
        digest.update(f"{path.relative_to(here).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def hardware(device: torch.device) -> str:
    """Return the processor's name, and the threads or the accelerator in use."""
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor() or platform.machine()}, {torch.get_num_threads()} threads"


def best_device() -> torch.device:
    """Return an accelerator where there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def choose_device(name: str | None) -> torch.device:
    """Return a device by its name, the best one if none is given, or say that it is not there."""
    if name is None:
        return best_device()
    counts = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
    there = [kind for kind, count in counts.items() if count]
    kind, colon, number = name.partition(":")
    if kind not in there or (colon and not (number.isdecimal() and int(number) < counts[kind])):
        raise ValueError(f"no device {name!r} here; choose {' or '.join(there)}")
    return torch.device(name)


def provenance(device: torch.device) -> dict[str, Any]:
    """Return what every result carries: commit, versions, hardware and the time in UTC."""
    software = dict(_process_versions())
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    return {"commit": software.pop("commit"), "versions": software, "hardware": hardware(device), "finished": now}


def now(device: torch.device) -> float:
    """Return a clock's seconds, once the device has done what it was asked to."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def duration(seconds: float) -> str:
    """Return seconds as a person says them: 1 h 05 min, 2 min 03 s or 9 s."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def keep_memory() -> bool:
    """Keep freed memory in this process for its next use, for good; tell whether that could be done.

    It needs glibc, which Linux has and musl, macOS and Windows have not. The process then keeps the most that it ever
    needed at once. Nothing in this library calls it but its own commands.
    """
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "gnu_get_libc_version"):
        return False
    settings = ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, -1), (M_TOP_PAD, AHEAD))
    return [libc.mallopt(*setting) for setting in settings] == [1, 1, 1]


@lru_cache(maxsize=1)
def _process_versions() -> dict[str, str]:
    return versions()  # asks git: once a process, and of the code that it began with
