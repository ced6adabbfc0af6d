"""The way a pass is run: in which memory, in which layout of images, in which precision."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from tent.engine.structures import Inputs, map_tensors
from tent.lean.buffers import Buffers
from tent.lean.frozen import costly
from tent.lean.layout import as_usual, channels_last, convolves, is_channels_last

PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass
class Execution:
    """How a model's passes are run; as it stands, as torch itself would."""

    buffers: Buffers | None = None
    images_last: bool = False  # whether images are laid out with their channels last
    dtype: torch.dtype | None = None  # what autocast narrows to
    device: str = "cpu"

    @property
    def scale(self) -> float:
        """What a loss is multiplied by at first, so that its gradients do not vanish in the precision."""
        return 2.0**16 if self.dtype == torch.float16 else 1.0

    def autocast(self) -> AbstractContextManager[Any]:
        """Narrow what may be narrowed; norms, losses and parameters stay as they are."""
        return torch.autocast(self.device, self.dtype) if self.dtype else nullcontext()

    def inputs(self, inputs: Inputs) -> Inputs:
        """Lay the inputs out as the pass wants them."""
        return channels_last(inputs) if self.images_last else inputs

    def widened(self, output: Any) -> Any:
        """Return a model's output in the type that it has without autocast."""
        return map_tensors(output, self._wide) if self.dtype else output

    def answer(self, inputs: Inputs, output: Any) -> Any:
        """Return an output laid out as the model itself would have done, whose inputs had their usual layout."""
        return output if not self.images_last or is_channels_last(inputs) else as_usual(output)

    def ended(self) -> None:
        """Let go of what later passes will not need."""
        if self.buffers is not None:
            self.buffers.trim()

    def _wide(self, x: Tensor) -> Tensor:
        return x.float() if x.dtype == self.dtype else x


def choose_execution(model: nn.Module, lean: bool, precision: str) -> Execution:
    """Return the best way for a model, or say why the precision is not for it."""
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
    first = next((p for p in model.parameters() if p.is_floating_point()), torch.empty(0))
    device, dtype = first.device.type, PRECISIONS[precision]
    if dtype is not None and first.dtype != torch.float32:
        raise ValueError(f"precision={precision!r} is for a float32 model, and this one is {first.dtype}; leave it out")
    if dtype == torch.float16 and device == "cpu":
        raise ValueError("precision='float16' is for GPUs; on a CPU use precision='bfloat16'")
    last = lean and convolves(model) and (device == "cpu" or dtype is not None)  # GPUs want it for narrow types alone
    return Execution(Buffers(costly(model)) if lean and device in ("cpu", "cuda") else None, last, dtype, device)
