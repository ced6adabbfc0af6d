"""The function mode that a model is run under: adapted tensors and chosen statistics take their source's place."""

import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from tent.engine import distributed
from tent.engine.private import FUNCTIONS, Buffers, batch_norm, exported_operation, fixed
from tent.norm import NormLayer, Source, Stats


class SingleValueError(ValueError):
    """A norm layer was given one value a channel, which has no statistics."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem  # without what to do, which a command line says in its own words

    def __str__(self) -> str:
        return f"{self.problem}; pass larger batches or images, or blend with the source's: stats=tent.norm.Prior(16)"


class Moments(NamedTuple):
    """The mean and variance of each channel that a layer was normalised by, over so many values a channel."""

    mean: Tensor
    var: Tensor
    values: int


class Call(NamedTuple):
    """One call of a batch or instance norm, in the argument order of `torch.nn.functional`."""

    input: Tensor
    running_mean: Tensor | None = None
    running_var: Tensor | None = None
    weight: Tensor | None = None
    bias: Tensor | None = None
    own: bool = False  # the model itself asks for the statistics of its input
    momentum: float = 0.1
    eps: float = 1e-5


def _functional_batch_norm(*args: Any, **kwargs: Any) -> Call:
    if "training" in kwargs:
        kwargs["own"] = kwargs.pop("training")
    return Call(*args, **kwargs)


def _functional_instance_norm(*args: Any, **kwargs: Any) -> Call:
    if len(args) < 6:
        kwargs["own"] = kwargs.pop("use_input_stats", True)
    return Call(*args, **kwargs)


def _native(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
    use_input_stats: bool = False,
) -> Call:
    return Call(input, running_mean, running_var, weight, bias, training or use_input_stats, momentum, eps)


BATCH_NORMS: dict[Callable[..., Any] | None, Callable[..., Call]] = {
    F.batch_norm: _functional_batch_norm,
    torch.batch_norm: _native,
    exported_operation("batch_norm"): _native,  # what an exported program calls
}
INSTANCE_NORMS: dict[Callable[..., Any] | None, Callable[..., Call]] = {
    F.instance_norm: _functional_instance_norm,
    torch.instance_norm: _native,
    exported_operation("instance_norm"): _native,
}


@dataclass
class PassContext:
    """What one pass is run with, and what it leaves behind."""

    stats: Stats
    stand_ins: Mapping[int, Tensor]  # id of a source parameter -> the tensor to use in its place
    layers: Mapping[int, str]  # id of a layer's running mean -> the layer's name
    remembered: Mapping[str, Moments]  # by layer; the prior where there is one, else the source's buffers
    groups: Mapping[str, Any] = field(default_factory=dict)  # of the layers that are in step across ranks
    head: int = 0  # id of the last layer's weight
    observe: bool = False  # leave the moments of every layer behind, not only those to be remembered
    buffers: Buffers | None = None  # for the lean path; without them torch's own functions are used
    features: Tensor | None = None  # what the last layer was given
    moments: dict[str, Moments] = field(default_factory=dict)


class Mode(TorchFunctionMode):
    """Answers every torch function of a pass: parameters are replaced by identity, statistics as chosen."""

    def __init__(self, context: PassContext) -> None:
        super().__init__()
        self.context = context

    def __exit__(self, *raised: Any) -> None:
        try:
            super().__exit__(*raised)  # type: ignore[no-untyped-call]
        except RuntimeError:  # an interrupt may come while torch has the mode off, and then there is none to end
            if raised[0] is None:
                raise

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if self.context.head and len(args) > 1 and id(args[1]) == self.context.head and isinstance(args[0], Tensor):
            self.context.features = args[0]  # the last use counts: a head's weight may be the embedding's too
        if func in BATCH_NORMS:
            return self._normalize(BATCH_NORMS[func](*args, **(kwargs or {})), across=True)
        if func in INSTANCE_NORMS:
            return self._normalize(INSTANCE_NORMS[func](*args, **(kwargs or {})), across=False)
        if kwargs:
            kwargs = dict(zip(kwargs, self._swap(kwargs.values()), strict=True))
        args = self._swap(args)
        buffers = self.context.buffers
        if buffers is not None and func in FUNCTIONS:
            done = FUNCTIONS[func](buffers, *args, **(kwargs or {}))
            if done is not NotImplemented:
                return done
        return func(*args, **(kwargs or {}))

    def _swap(self, values: Any) -> Any:
        get = self.context.stand_ins.get
        return tuple([self._swap_nested(v) if v.__class__ in (list, tuple) else get(id(v), v) for v in values])

    def _swap_nested(self, values: Any) -> Any:
        return type(values)(self._swap(values))

    def _normalize(self, call: Call, across: bool) -> Any:
        context = self.context
        name = context.layers.get(id(call.running_mean)) or context.layers.get(id(call.weight), "")
        call = Call._make(self._swap(call))
        x = call.input
        count = x.numel() // max(x.shape[1], 1) if across else x[0, 0].numel() if len(x) else 0
        share: float | Tensor = 1.0
        group = context.groups.get(name) if across else None
        if call.running_mean is not None and not count and group is None:
            share = 0.0  # an empty batch has no statistics
        elif call.running_mean is not None and not call.own:
            share = context.stats.share(NormLayer(name, call.running_mean, call.running_var, not across), x)
        whole = isinstance(share, float | int) and share == 1.0
        if count == 1 and (whole or (isinstance(share, Tensor) and bool((share == 1).any()))):
            raise SingleValueError(_explain_single_value(name, x, across))
        if not whole or group is not None:
            return self._blend(call, name, share, across, group)
        if context.observe and across and count:
            context.moments[name] = _moments(x.detach(), across)
        if across and context.buffers is not None:
            done = batch_norm(context.buffers, x, call.weight, call.bias, call.eps)
            if done is not NotImplemented:
                return done
        return _whole(call, across)

    def _blend(self, call: Call, name: str, share: float | Tensor, across: bool, group: Any) -> Any:
        context = self.context
        prior = context.moments.get(name) if context.stats.remembers else None
        prior = prior or context.remembered.get(name)
        mean, var = (prior.mean, prior.var) if prior else (call.running_mean, call.running_var)
        count, uses_batch = 0, isinstance(share, Tensor) or share > 0.0
        pools = group is not None and (context.stats != Source() or call.own)  # a choice that all ranks share
        if uses_batch or pools:
            own = _moments(call.input, across)
            if group is not None:
                own = Moments(*distributed.pool_moments(own.mean, own.var, own.values, group))
            share = share if own.values else 0.0
            mean, var, count = _mix(mean, own.mean, share), _mix(var, own.var, share), own.values
        if mean is None or var is None:
            raise ValueError(f"the batch norm {name or 'in use'} has no statistics for an empty batch; pass a sample")
        if across and name and (context.observe or context.stats.remembers):
            context.moments[name] = Moments(mean.detach(), var.detach(), count)
        return _affine(call, mean, var) if uses_batch or prior else self._fixed(call)

    def _fixed(self, call: Call) -> Any:
        x, mean, var, weight, bias, *_ = call
        if self.context.buffers is not None and mean is not None and var is not None:
            done = fixed(self.context.buffers, x, mean, var, weight, bias, call.eps)
            if done is not NotImplemented:
                return done
        return torch.batch_norm(x, weight, bias, mean, var, False, 0.0, call.eps, torch.backends.cudnn.enabled)


_stack_length: Callable[[], int] | None = getattr(torch._C, "_len_torch_function_stack", None)
_pop_mode: Callable[[], Any] | None = getattr(torch.overrides, "_pop_mode", None)


@contextmanager
def clean_stack() -> Iterator[None]:
    """Leave no mode on torch's stack: an interrupt may come between a mode's entry and the `with` that would end it."""
    length = _stack_length() if _stack_length else 0
    try:
        yield
    except KeyboardInterrupt as interrupt:
        traceback.clear_frames(interrupt.__traceback__)  # torch may have had a mode off, and puts it back when they go
        raise
    finally:
        while _stack_length and _pop_mode and _stack_length() > length:
            _pop_mode()


def _mix(prior: Tensor | None, own: Tensor, share: float | Tensor) -> Tensor:
    if isinstance(share, Tensor):
        return own if prior is None else torch.lerp(prior.to(own), own, share.to(own))
    return own if prior is None or share == 1.0 else torch.lerp(prior.to(own), own, share)


def _whole(call: Call, across: bool) -> Tensor:
    norm = torch.batch_norm if across else torch.instance_norm
    return norm(call.input, call.weight, call.bias, None, None, True, 0.0, call.eps, torch.backends.cudnn.enabled)


def _moments(x: Tensor, across: bool) -> Moments:
    axes = [axis for axis in range(x.dim()) if axis > 1 or (axis == 0 and across)]
    x = x.float() if x.itemsize < 4 else x
    if not x.numel():
        return Moments(x.new_zeros(x.shape[1]), x.new_zeros(x.shape[1]), 0)
    var, mean = torch.var_mean(x, axes, correction=0)  # (channels,) or, for an instance norm, (n, channels)
    return Moments(mean, var, x.numel() // mean.numel())


def _affine(call: Call, mean: Tensor, var: Tensor) -> Tensor:
    scale = torch.rsqrt(var + call.eps)
    scale = scale if call.weight is None else scale * call.weight
    shift = -mean * scale if call.bias is None else call.bias - mean * scale
    shape = [-1 if scale.dim() > 1 else 1, scale.shape[-1], *[1] * (call.input.dim() - 2)]
    return (call.input * scale.reshape(shape) + shift.reshape(shape)).to(call.input.dtype)


def _explain_single_value(name: str, x: Tensor, across: bool) -> str:
    where = f"the {'batch' if across else 'instance'} norm {name!r}" if name else "a norm layer"
    return f"{where} was given {tuple(x.shape)}, one value a channel, which has no statistics of its own"
