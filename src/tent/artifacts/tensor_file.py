"""Files of tensors: safetensors with a checksum, of one kind or another; never a pickle."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from tent.files import atomic_write


def write_tensor_file(
    path: str | os.PathLike[str], kind: str, tensors: Mapping[str, Tensor], words: Mapping[str, str]
) -> None:
    """Write tensors and words to a safetensors file of a kind, with a checksum: whole or not at all."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    words = {**words, "format": kind}
    with atomic_write(path) as partial:
        partial.write_bytes(_sort_header(save(tensors, {**words, "checksum": _checksum(tensors, words)})))


def read_tensor_file(path: str | os.PathLike[str], kind: str, what: str) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the tensors and words of a file of a kind, called `what`, or say why it is none."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: there is no such {what}")
    try:
        with safe_open(path, framework="pt") as file:
            words = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
    except SafetensorError as error:
        raise ValueError(
            f"{path}: not a whole safetensors file ({error}); it may be truncated, or a pickle, which is never read"
        ) from None
    if words.get("format") != kind or "source" not in words:
        raise ValueError(f"{path}: a safetensors file, but not a {what}: those are written by adapted.{what}().save")
    if words.pop("checksum", None) != _checksum(tensors, words):
        raise ValueError(f"{path}: damaged: its tensors do not match their checksum; save the {what} again")
    del words["format"]
    return tensors, words


def _checksum(tensors: Mapping[str, Tensor], words: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for name in sorted(words):
        digest.update(f"{name} {words[name]};".encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)};".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _sort_header(file: bytes) -> bytes:
    # safetensors writes its header in an order that differs from run to run
    length = int.from_bytes(file[:8], "little")
    header = json.dumps(json.loads(file[8 : 8 + length]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + file[8 + length :]
