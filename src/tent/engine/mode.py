"""The function mode that a model is run under: adapted tensors and chosen statistics take their source's place."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from tent.engine import distributed
from tent.engine.private import FUNCTIONS, Buffers, batch_norm, fixed
from tent.norm import Stats


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


BATCH_NORMS: dict[Callable[..., Any], Callable[..., Call]] = {
    F.batch_norm: _functional_batch_norm,
    torch.batch_norm: _native,
    torch.ops.aten.batch_norm.default: _native,  # what an exported program calls
}
INSTANCE_NORMS: dict[Callable[..., Any], Callable[..., Call]] = {
    F.instance_norm: _functional_instance_norm,
    torch.instance_norm: _native,
    torch.ops.aten.instance_norm.default: _native,
}


@dataclass
class Forward:
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

    def __init__(self, forward: Forward) -> None:
        super().__init__()
        self.forward = forward

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if self.forward.head and len(args) > 1 and id(args[1]) == self.forward.head:
            self.forward.features = args[0]
        if func in BATCH_NORMS:
            return self._normalised(BATCH_NORMS[func](*args, **(kwargs or {})), across=True)
        if func in INSTANCE_NORMS:
            return self._normalised(INSTANCE_NORMS[func](*args, **(kwargs or {})), across=False)
        if kwargs:
            kwargs = dict(zip(kwargs, self._swapped(kwargs.values()), strict=True))
        args = self._swapped(args)
        buffers = self.forward.buffers
        if buffers is not None and func in FUNCTIONS:
            done = FUNCTIONS[func](buffers, *args, **(kwargs or {}))
            if done is not NotImplemented:
                return done
        return func(*args, **(kwargs or {}))

    def _swapped(self, values: Any) -> Any:
        get = self.forward.stand_ins.get
        return tuple([self._nested(v) if v.__class__ in (list, tuple) else get(id(v), v) for v in values])

    def _nested(self, values: Any) -> Any:
        return type(values)(self._swapped(values))

    def _normalised(self, call: Call, across: bool) -> Any:
        forward = self.forward
        name = forward.layers.get(id(call.running_mean)) or forward.layers.get(id(call.weight), "")
        call = Call._make(self._swapped(call))
        x = call.input
        count = x.numel() // max(x.shape[1], 1) if across else x[0, 0].numel() if len(x) else 0
        share = 1.0 if call.own or call.running_mean is None else forward.stats.share(len(x) if across else 1)
        if count == 0 and call.running_mean is not None:
            share = 0.0  # an empty batch has no statistics
        if count == 1 and share == 1.0:
            raise ValueError(_alone(name, x, across))
        group = forward.groups.get(name) if across else None
        if share == 1.0 and group is None:
            if forward.observe and across and count:
                forward.moments[name] = _moments(x.detach(), across)
            if across and forward.buffers is not None:
                done = batch_norm(forward.buffers, x, call.weight, call.bias, call.eps)
                if done is not NotImplemented:
                    return done
            return _whole(call, across)
        return self._blended(call, name, share, across, group)

    def _blended(self, call: Call, name: str, share: float, across: bool, group: Any) -> Any:
        forward = self.forward
        prior = forward.moments.get(name) if forward.stats.remembers else None
        prior = prior or forward.remembered.get(name)
        mean, var = (prior.mean, prior.var) if prior else (call.running_mean, call.running_var)
        count = 0
        if share > 0.0:
            own = _moments(call.input, across)
            if group is not None:
                own = Moments(*distributed.pooled(own.mean, own.var, own.values, group))
            mean = own.mean if mean is None or share == 1.0 else torch.lerp(mean.to(own.mean), own.mean, share)
            var = own.var if var is None or share == 1.0 else torch.lerp(var.to(own.var), own.var, share)
            count = own.values
        if mean is None or var is None:
            raise ValueError(f"the batch norm {name or 'at hand'} has no statistics for an empty batch; bring a sample")
        if across and name and (forward.observe or forward.stats.remembers):
            forward.moments[name] = Moments(mean.detach(), var.detach(), count)
        return _affine(call, mean, var) if share > 0.0 or prior else self._fixed(call)

    def _fixed(self, call: Call) -> Any:
        x, mean, var, weight, bias, *_ = call
        if self.forward.buffers is not None and mean is not None and var is not None:
            done = fixed(self.forward.buffers, x, mean, var, weight, bias, call.eps)
            if done is not NotImplemented:
                return done
        return torch.batch_norm(x, weight, bias, mean, var, False, 0.0, call.eps, torch.backends.cudnn.enabled)


def _whole(call: Call, across: bool) -> Tensor:
    norm = torch.batch_norm if across else torch.instance_norm
    return norm(call.input, call.weight, call.bias, None, None, True, 0.0, call.eps, torch.backends.cudnn.enabled)


def _moments(x: Tensor, across: bool) -> Moments:
    axes = [axis for axis in range(x.dim()) if axis > 1 or (axis == 0 and across)]
    x = x.float() if x.itemsize < 4 else x
    var, mean = torch.var_mean(x, axes, correction=0)  # (channels,) or, for an instance norm, (n, channels)
    return Moments(mean, var, x.numel() // mean.numel())


def _affine(call: Call, mean: Tensor, var: Tensor) -> Tensor:
    scale = torch.rsqrt(var + call.eps)
    scale = scale if call.weight is None else scale * call.weight
    shift = -mean * scale if call.bias is None else call.bias - mean * scale
    shape = [-1 if scale.dim() > 1 else 1, scale.shape[-1], *[1] * (call.input.dim() - 2)]
    return (call.input * scale.reshape(shape) + shift.reshape(shape)).to(call.input.dtype)


def _alone(name: str, x: Tensor, across: bool) -> str:
    where = f"the {'batch' if across else 'instance'} norm {name!r}" if name else "a norm layer"
    return (
        f"{where} was given {tuple(x.shape)}, one value a channel, which has no statistics of its own; "
        "bring larger batches or images, or blend with the source's: stats=tent.norm.Prior(16)"
    )
