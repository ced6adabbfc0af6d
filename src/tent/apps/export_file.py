"""The baked model in a file that other programs run: torch.export or ONNX."""

import itertools
import warnings
from importlib.util import find_spec
from pathlib import Path

import torch

from tent.adapted import Adapted
from tent.data.stream import Stream
from tent.evaluate import model_device
from tent.files import atomic_write, check_file

BATCHES = 20  # enough to pool statistics from; more would change little


def export_format(path: Path) -> str:
    """Return pt2 or onnx by a file's ending, or say which there are and what they need."""
    if path.suffix not in (".pt2", ".onnx"):
        raise ValueError(f"{path}: a baked model is written as .pt2 (torch.export) or .onnx")
    check_file(path)
    for package in ("onnx", "onnxscript") if path.suffix == ".onnx" else ():
        if find_spec(package) is None:
            raise ModuleNotFoundError(f"ONNX needs {package}: pip install 'tent-tta[export]', or use .pt2")
    return path.suffix[1:]


def export_baked(adapted: Adapted, stream: Stream, path: Path) -> None:
    """Fold in the statistics of the stream's first batches, and export for batches of any size."""
    device = model_device(adapted.source)
    model = adapted.baked(batch.to(device) for batch in itertools.islice(stream, BATCHES)).cpu()  # to run anywhere
    x = next(iter(stream)).inputs
    x = x if len(x) > 1 else torch.cat([x, x])  # one image would make the size of a batch a constant
    n = torch.export.Dim("batch", min=1)
    with atomic_write(path) as partial, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporters' own, about their own insides
        if export_format(path) == "pt2":
            with partial.open("wb") as file:
                torch.export.save(torch.export.export(model, (x,), dynamic_shapes=({0: n},)), file)
        else:
            program = torch.onnx.export(model, (x,), dynamo=True, dynamic_shapes=({0: n},), verbose=False)
            program.save(partial)  # type: ignore[union-attr]
