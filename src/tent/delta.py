"""Deltas: what an adaptation moved, as a small part of a state_dict, tied to its source model."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from tent.files import atomic_write

FORMAT = "tent-delta-1"


def fingerprint(model: nn.Module) -> str:
    """Return a hash of every parameter and buffer of a model: names, types, shapes and values."""
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        if isinstance(tensor, Tensor):
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)};".encode())
            digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


@dataclass(frozen=True)
class Delta:
    """What moved, under its names in the model's state_dict, and the fingerprint of the model it belongs to."""

    tensors: Mapping[str, Tensor]
    source: str
    about: Mapping[str, str] = field(default_factory=dict)  # the method, and whatever else a reader may want to know

    def __post_init__(self) -> None:
        for name, tensor in self.tensors.items():
            if not tensor.isfinite().all():
                raise ValueError(f"the delta's {name} is not finite; it cannot be used")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a safetensors file, beside and then renamed: it is there whole or not at all."""
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in self.tensors.items()}
        with atomic_write(path) as beside:
            save_file(tensors, beside, {**self.about, "format": FORMAT, "source": self.source})

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "Delta":
        """Read a delta; a truncated or foreign file, or a pickle, is refused."""
        if not Path(path).is_file():
            raise FileNotFoundError(f"{path}: there is no such delta")
        try:
            with safe_open(path, framework="pt") as file:
                about = dict(file.metadata() or {})
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
        except SafetensorError as error:
            raise ValueError(
                f"{path}: not a whole safetensors file ({error}); it may be truncated, or a pickle, which is never read"
            ) from None
        if about.pop("format", None) != FORMAT:
            raise ValueError(f"{path}: a safetensors file, but not a delta: those are written by adapted.delta().save")
        return Delta(tensors, about.pop("source"), about)
