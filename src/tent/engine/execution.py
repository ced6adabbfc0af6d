"""The way a pass is run: in which memory, in which layout of images, in which precision."""

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from tent.engine.private import LEAN_ERROR, Buffers, costly_weights, has_convolutions, warn_without_lean
from tent.engine.self_check import Watch, answers_agree, has_own_gradients
from tent.engine.structures import Inputs, list_tensors, map_tensors

PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}
FUSED = (torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD)

Pass = TypeVar("Pass")
Call = Callable[["Execution", Inputs], tuple[Any, Pass]]


@dataclass
class Execution:
    """How a model's passes are run; as it stands, as torch itself would."""

    buffers: Buffers | None = None
    images_last: bool = False  # whether images are laid out with their channels last
    dtype: torch.dtype | None = None  # what autocast narrows to
    device: str = "cpu"
    checked: set[Any] = field(default_factory=set)  # kinds of calls that were answered as torch itself would
    watch: Watch | None = None  # of the pass at hand

    @property
    def scale(self) -> float:
        """What a loss is multiplied by at first, so that its gradients do not vanish in the precision."""
        return 2.0**16 if self.dtype == torch.float16 else 1.0

    def run(self, call: "Call[Pass]", inputs: Inputs, agree: Callable[[bool], bool] = bool) -> tuple[Any, Pass]:
        """Run a pass; where it fails or answers otherwise than as torch itself would, run it like that from now on.

        Args:
            call: runs the model on inputs in the way that it is given, and returns its output and something more.
            agree: what all ranks agree on, of what this one found.
        """
        if not (self.images_last or self.buffers) or self.checked & _kinds(inputs):
            return self._attempt(call, inputs)
        devices = {tensor.get_device() for tensor in list_tensors(inputs) if tensor.is_cuda}
        own = Watch()
        with torch.random.fork_rng(devices), torch.no_grad():
            reference, _ = call(replace(self, buffers=None, images_last=False, watch=own), _copy(inputs))
        if self.images_last and (done := self._check(call, inputs, reference, own, agree)):
            return done
        self.images_last = False
        if self.buffers and (done := self._check(call, inputs, reference, own, agree)):
            return done
        self.buffers = None
        return call(self, inputs)

    def context(self) -> AbstractContextManager[Any]:
        """Return what a model is run inside: narrow what may be narrowed; norms, losses and parameters stay."""
        stack = ExitStack()
        if self.dtype:
            stack.enter_context(torch.autocast(self.device, self.dtype))
        if self.watch is not None:
            stack.enter_context(self.watch)
        return stack

    def inputs(self, inputs: Inputs) -> Inputs:
        """Lay the inputs out as the pass wants them."""
        return map_tensors(inputs, _channels_last) if self.images_last else inputs

    def widen(self, output: Any) -> Any:
        """Return a model's output in the type that it has without autocast."""
        return map_tensors(output, self._wide) if self.dtype else output

    def answer(self, inputs: Inputs, output: Any) -> Any:
        """Return an output laid out as the model itself would have done, in memory of its own."""
        usual = self.images_last and not _has_channels_last(inputs)
        output = map_tensors(output, _usual_layout) if usual else output
        return map_tensors(output, _own_memory) if self.buffers else output

    def end_pass(self) -> None:
        """Let go of what later passes will not need."""
        if self.buffers is not None:
            self.buffers.trim()

    def release(self) -> None:
        """Give back the memory that is held for the next pass."""
        if self.buffers is not None:
            self.buffers.release()

    def _attempt(self, call: "Call[Pass]", inputs: Inputs) -> tuple[Any, Pass]:
        try:
            return self._recomputable(call, inputs)
        except RuntimeError:
            if not self.images_last:
                raise
            done = replace(self, images_last=False)._recomputable(call, inputs)  # if it fails too, that is the error
            self.images_last = False
            return done

    def _recomputable(self, call: "Call[Pass]", inputs: Inputs) -> tuple[Any, Pass]:
        done = call(self, self.inputs(inputs))
        if self.buffers is not None and self.buffers.pop_overwritten():
            self.buffers.recomputes = False  # the model writes to what would be recomputed from
            done = call(self, self.inputs(inputs))
        return done

    def _check(
        self, call: "Call[Pass]", inputs: Inputs, reference: Any, own: Watch, agree: Callable[[bool], bool]
    ) -> tuple[Any, Pass] | None:
        # a pass that was held against torch's own, None where they differ
        random, watch = torch.get_rng_state(), Watch(own)
        done, same, problem = None, None, "its answers differ from torch's own"
        try:
            done = replace(self, watch=watch)._recomputable(call, _copy(inputs))
            same = answers_agree(done[0], reference, self.dtype)
        except (RuntimeError, TypeError, ValueError, AttributeError) as error:  # torch's own functions had none
            same, problem = False, f"it raises {error}"
        layout = self.images_last and (done is None or watch.differs() or has_own_gradients(done[0]))
        if agree(same is not False and not layout):
            self.checked |= _kinds(inputs, torch.is_grad_enabled()) if same else set()
            return done
        if not layout:
            off = "channels-last images are" if self.images_last else "the lean path is"
            warnings.warn(f"tent: {off} off for this model, since {problem}", RuntimeWarning, stacklevel=2)
        torch.set_rng_state(random)
        return None

    def _wide(self, x: Tensor) -> Tensor:
        return x.float() if x.dtype == self.dtype else x


def choose_execution(model: nn.Module, lean: bool, precision: str) -> Execution:
    """Return the best way for a model, or say why the precision is not for it."""
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
    first = next((p for p in model.parameters() if p.is_floating_point()), torch.empty(0, device="cpu"))
    device, dtype = first.device.type, PRECISIONS[precision]
    if dtype is not None and first.dtype != torch.float32:
        raise ValueError(f"precision={precision!r} is for a float32 model, and this one is {first.dtype}; leave it out")
    if dtype == torch.float16 and device == "cpu":
        raise ValueError("precision='float16' is for GPUs; on a CPU use precision='bfloat16'")
    if lean and LEAN_ERROR is not None:
        warn_without_lean()
    if not lean or LEAN_ERROR is not None:
        return Execution(dtype=dtype, device=device)
    last = has_convolutions(model) and (device == "cpu" or dtype is not None)  # GPUs want it for narrow types alone
    return Execution(Buffers(costly_weights(model)) if device in ("cpu", "cuda") else None, last, dtype, device)


def fuse(make: Any) -> Any:
    """Return the same optimizer in its fused form, where torch has one and the caller did not choose."""
    kind, chosen = make, set[str]()
    while isinstance(kind, partial):
        chosen |= kind.keywords.keys()
        kind = kind.func
    if LEAN_ERROR is not None or kind not in FUSED or chosen & {"fused", "foreach", "capturable", "differentiable"}:
        return make
    return partial(_make_fused, make)


def _make_fused(make: Any, params: Sequence[Tensor]) -> Optimizer:
    whole = all(p.dtype in (torch.float32, torch.float64) and p.device.type in ("cpu", "cuda") for p in params)
    return make(params, fused=True) if whole else make(params)  # type: ignore[no-any-return]


def _kinds(inputs: Inputs, *gradients: bool) -> set[Any]:
    # calls that take the same way through a model; one that was checked with gradients counts without them too
    args, kwargs = inputs
    words = tuple(value if isinstance(value, str | bool) else None for value in (*args, *kwargs.values()))
    kind = (tuple(tensor.dim() for tensor in list_tensors(inputs)), tuple(kwargs), words)
    return {(kind, gradient) for gradient in gradients or {True, torch.is_grad_enabled()}}


def _copy(inputs: Inputs) -> Inputs:
    return map_tensors(inputs, Tensor.clone)  # type: ignore[no-any-return]


def _are_images(x: Tensor) -> bool:
    return x.dim() == 4 and x.is_floating_point() and x.layout == torch.strided


def _channels_last(x: Tensor) -> Tensor:
    return x.contiguous(memory_format=torch.channels_last) if _are_images(x) else x


def _has_channels_last(inputs: Inputs) -> bool:
    images = [x for x in list_tensors(inputs) if _are_images(x)]
    return any(x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous() for x in images)


def _usual_layout(x: Tensor) -> Tensor:
    return x.contiguous() if _are_images(x) else x


def _own_memory(x: Tensor) -> Tensor:
    # memory of the buffers would keep all of theirs, and cannot be resized
    own = x.layout != torch.strided or x.device.type != "cpu" or x.untyped_storage().resizable()
    return x if own else x.clone()
