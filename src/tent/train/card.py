"""What a trained model says of itself: recipe, data, versions, time and error, beside its weights."""

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import safetensors
import torch
from safetensors.torch import save_file
from torch import Tensor

import tent
from tent.train.source import Arrays

WEIGHTS, CARD = "model.safetensors", "card.json"


def write(state: Mapping[str, Tensor], card: Mapping[str, object], folder: Path) -> dict[str, object]:
    """Put weights and their card in a folder, the card last: a folder with a card is whole."""
    beside = folder / f".{WEIGHTS}.{os.getpid()}"
    save_file({name: tensor.detach().cpu().contiguous() for name, tensor in state.items()}, beside)
    whole = {**card, "weights_sha256": file_hash(beside)}
    os.replace(beside, folder / WEIGHTS)
    beside = folder / f".{CARD}.{os.getpid()}"
    beside.write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")
    os.replace(beside, folder / CARD)
    return whole


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def data_hash(data: Arrays) -> str:
    """SHA-256 of a set's images and labels in their order, whatever files they come from."""
    digest = hashlib.sha256()
    for start in range(0, len(data), 4096):
        digest.update(data.fetch(np.arange(start, min(start + 4096, len(data)))).tobytes())
    digest.update(data.labels.astype("<i8").tobytes())
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """The software that a number was made with."""
    return {
        "tent": tent.__version__,
        "commit": commit(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "safetensors": safetensors.__version__,
    }


def commit() -> str:
    """The commit of the checkout that this package runs from, marked where files differ from it."""
    here = Path(__file__).resolve().parent
    command = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "none"
    return found


def hardware(device: torch.device) -> str:
    """The processor's name, and the threads or the accelerator in use."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    name = names[0] if names else platform.processor() or platform.machine()
    return f"{name}, {torch.get_num_threads()} threads"
