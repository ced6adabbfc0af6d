"""One pass and the run it belongs to: what was seen, and what an adaptation holds beside its source model."""

import copy
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import _engine_run_backward
from torch.optim import Optimizer

from tent.engine import distributed
from tent.engine.mode import Forward, Mode, Moments
from tent.engine.structures import Inputs, Picker, find_logits


class NotFiniteError(ArithmeticError):
    """A loss or gradient is not finite, so nothing may move."""


class ScaledTooFarError(ArithmeticError):
    """A scaled gradient is not finite; the scale is smaller now, and the pass is to be made again."""


@dataclass
class ForwardPass:
    """One forward pass: what went in, what came out, and what the last layer was given."""

    inputs: Inputs
    output: Any
    features: Tensor | None = None
    pick: Picker | None = None  # the caller's way to the logits
    moments: dict[str, Moments] = field(default_factory=dict)  # what the layers were normalised by, where that is kept

    @cached_property
    def logits(self) -> Tensor:
        """The logits in the output, classes on axis 1; looked for when a method asks, since not every method does."""
        logits = self.pick(self.output) if self.pick else find_logits(self.output, self.inputs)
        if logits.shape[1] < 2:
            raise ValueError(
                f"logits of shape {tuple(logits.shape)} name one class, whose probability is always 1; "
                "for a yes/no model pass adapt(model, logits=lambda z: torch.cat([torch.zeros_like(z), z], 1))"
            )
        return logits


@dataclass
class State:
    """What an adaptation holds beside its source model; a reset throws all of it away."""

    params: dict[str, Tensor]  # what moves, by name
    moments: dict[str, Moments] = field(default_factory=dict)  # statistics that are remembered, by layer
    memory: dict[str, Any] = field(default_factory=dict)  # whatever a method keeps between batches
    group: Any = None  # the process group that updates in step
    loss: float | None = None  # of the last update
    scale: float = 1.0  # of the loss in the backward pass, for a precision in which small gradients vanish
    updates: int = 0  # gradients that were good to take
    again: Callable[[], ForwardPass] | None = None  # the batch at hand once more, at the parameters as they are now
    see: Callable[[Inputs], ForwardPass] | None = None  # any inputs likewise, while a batch is at hand
    forward: Forward | None = None  # the pass at hand

    def look(self, *inputs: Any, **kwargs: Any) -> ForwardPass:
        """Run the model as it is now on inputs of a method's own, to learn from; its statistics are not remembered."""
        if self.see is None:
            raise RuntimeError("a run looks at inputs only while it learns from a batch: in Method.step or Method.loss")
        return self.see((inputs, kwargs))

    def backward(self, loss: Tensor) -> None:
        """Leave the loss's gradients at the parameters, or raise before anything has moved."""
        params = list(self.params.values())
        if not loss.requires_grad:
            raise RuntimeError("the loss does not depend on what adapts; does the model's forward turn gradients off?")
        with Mode(replace(self.forward, moments={})) if self.forward else nullcontext():
            _backward(loss * self.scale if self.scale != 1.0 else loss, params)
        gradients = [param.grad for param in params if param.grad is not None]
        if self.scale != 1.0:
            torch._foreach_div_(gradients, self.scale)
        norms = [norm.float() for norm in torch._foreach_norm(gradients)]
        value, *sizes = torch.stack([loss.detach().float(), *norms]).tolist()  # one wait for the device
        if not self._agreed(all(map(math.isfinite, (value, *sizes)))):
            for param in params:
                param.grad = None
            # ranks that raised differently would wait for each other: one makes its pass again, another does not
            if self.scale > 1.0 and self._agreed(math.isfinite(value)):
                self.scale /= 4
                raise ScaledTooFarError(f"scaled down to {self.scale}")
            raise NotFiniteError("its loss or gradient is not finite")
        if self.group is not None:
            distributed.averaged(gradients, self.group)
        self.loss, self.updates = value, self.updates + 1

    def _agreed(self, fine: bool) -> bool:
        return fine if self.group is None else distributed.agreed(fine, self.group)

    def tensors(self) -> dict[str, Tensor]:
        """Return copies of what moved and of the remembered statistics, under their names in the model's state_dict."""
        tensors = {name: param.detach().clone() for name, param in self.params.items()}
        for name, moments in self.moments.items():
            tensors[_joined(name, "running_mean")] = moments.mean.clone()
            tensors[_joined(name, "running_var")] = moments.var.clone()
        return tensors

    def put(self, tensors: Mapping[str, Tensor], layers: Iterable[str]) -> None:
        """Take such tensors over, all or none of them; `layers` are those whose statistics may be remembered."""
        means = {_joined(name, "running_mean"): name for name in layers}
        fresh = {}
        for name, tensor in tensors.items():
            if name in means:
                var = tensors.get(name.removesuffix("mean") + "var")
                if var is None:
                    raise ValueError(f"{name} comes without its running_var")
                fresh[means[name]] = Moments(tensor.clone(), var.clone(), 0)
            elif name in self.params:
                if tensor.shape != self.params[name].shape:
                    raise ValueError(f"{name} has shape {tuple(tensor.shape)}, not {tuple(self.params[name].shape)}")
            elif name.removesuffix("var") + "mean" not in means:
                raise ValueError(f"{name} is not what this adaptation moves; make it with the select and stats of then")
        device = next(iter(self.params.values())).device if self.params else None
        self.moments = {name: Moments(m.mean.to(device), m.var.to(device), 0) for name, m in fresh.items()}
        with torch.no_grad():
            for name, param in self.params.items():
                if name in tensors:
                    param.copy_(tensors[name])

    def kept(self, optimizer: Optimizer) -> Callable[[], None]:
        """Remember everything as it is now; the function that comes back restores it."""
        params = {name: param.detach().clone() for name, param in self.params.items()}
        state, memory = copy.deepcopy(optimizer.state_dict()), copy.deepcopy(self.memory)
        moments, loss, updates = self.moments, self.loss, self.updates

        def restore() -> None:
            with torch.no_grad():
                for name, param in self.params.items():
                    param.copy_(params[name])
            optimizer.load_state_dict(state)
            self.memory, self.moments, self.loss, self.updates = memory, moments, loss, updates

        return restore


def _backward(loss: Tensor, params: Sequence[Tensor]) -> None:
    # a checkpointed block runs once more inside backward, and must find the mode that it found the first time; but
    # torch.autograd.backward is itself a torch function, which a mode is off in: hence the call behind it
    seed = (torch.ones_like(loss),)
    _engine_run_backward((loss,), seed, False, False, tuple(params), allow_unreachable=True, accumulate_grad=True)


def _joined(layer: str, own: str) -> str:
    return f"{layer}.{own}" if layer else own
