"""What a trained model says of itself: recipe, data, versions, time and error, beside its weights."""

import hashlib
import json
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import torch
from safetensors.torch import save_file
from torch import Tensor

import tent
from tent.files import atomic_write
from tent.models.carded import CARD, WEIGHTS


def write(state: Mapping[str, Tensor], card: Mapping[str, object], folder: Path) -> dict[str, Any]:
    """Put weights and their card in a folder, the card last: a folder with a card is whole."""
    with atomic_write(folder / WEIGHTS) as beside:
        save_file({name: tensor.detach().cpu().contiguous() for name, tensor in state.items()}, beside)
        complete = {**card, "weights_sha256": hashlib.sha256(beside.read_bytes()).hexdigest()}
    with atomic_write(folder / CARD) as beside:
        beside.write_text(json.dumps(complete, indent=2) + "\n", encoding="utf-8")
    return complete


def versions() -> dict[str, str]:
    """The software that a number was made with."""
    return {
        "tent": tent.__version__,
        "commit": commit(),
        "python": platform.python_version(),
        "torch": str(torch.__version__),  # a class of its own, which no checkpoint may hold
        "numpy": np.__version__,
        "safetensors": safetensors.__version__,
    }


def commit() -> str:
    """The commit of the checkout that this package runs from, marked where files differ from it."""
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


def hardware(device: torch.device) -> str:
    """The processor's name, and the threads or the accelerator in use."""
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor() or platform.machine()}, {torch.get_num_threads()} threads"
