"""What moved is a small file; a baked model is a plain one, to export and serve."""

import tempfile
from pathlib import Path

import torch

import tent
from tent.models import zoo

entry = zoo.load("r26-cifar10")
adapted = tent.adapt(entry.model)
x = torch.randn(32, 3, 32, 32)  # stands for a batch of yours
adapted(x)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "camera-3.safetensors"
    adapted.delta().save(path)
    print(f"the delta has {path.stat().st_size:,} bytes")
    adapted.reset()
    adapted.load_delta(path)

plain = adapted.baked([x])
program = torch.export.export(plain, (x,), dynamic_shapes=({0: torch.export.Dim("batch", min=1)},))
with adapted.paused():
    print("largest difference of the exported model:", (program.module()(x) - adapted(x)).abs().max().item())
