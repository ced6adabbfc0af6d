"""The check of a first batch: whether another layout or other functions than torch's own change a model's answers."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from tent.engine.structures import list_tensors

# differences that rounding makes, as a share of the answers' size; deep nets add up those of every layer
ROUNDING = {torch.float64: 1e-9, torch.float32: 1e-3}
NARROW_ROUNDING = 0.3  # of bfloat16 and float16
BATCH_NORMS = (torch.batch_norm, torch.nn.functional.batch_norm)


class Watch(TorchFunctionMode):
    """Notes which results of a pass share memory with an input, and what is written to where that depends on layout.

    `reshape`, `flatten` and `contiguous` return a view in one layout and a copy in another. That changes nothing until
    one of the two is written to: then it decides whether the other changes as well.
    """

    def __init__(self, other: "Watch | None" = None) -> None:
        super().__init__()
        self.other = other  # the watch of the same model in its own layout
        self.calls: list[tuple[Any, ...]] = []
        self.ambiguous = False
        self._suspects: dict[int, Any] = {}  # storages; held, so that their addresses stay theirs

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        inputs = list_tensors((args, kwargs or {}))
        versions = [_version(tensor) for tensor in inputs]
        exact = self.other is None and func in BATCH_NORMS and args
        output = _channels_first(func, *args, **(kwargs or {})) if exact else func(*args, **(kwargs or {}))
        if self.other is not None:
            changed = [t for t, version in zip(inputs, versions, strict=True) if _version(t) != version]
            self.ambiguous |= any(_address(tensor) in self._suspects for tensor in changed)
        self._note(func, inputs, list_tensors(output))
        return output

    def differs(self) -> bool:
        """Tell whether this pass may have written to other values than the other watch's pass."""
        return self.other is not None and (self.ambiguous or len(self.calls) != len(self.other.calls))

    def _note(self, func: Callable[..., Any], inputs: list[Tensor], outputs: list[Tensor]) -> None:
        places = [_address(tensor) for tensor in inputs]
        shared = tuple(places.index(place) if (place := _address(t)) in places else -1 for t in outputs)
        number, call = len(self.calls), (getattr(func, "__name__", ""), *shared)
        self.calls.append(call)
        if self.other is None:
            return
        expected = self.other.calls[number] if number < len(self.other.calls) else ()
        if expected[:1] != call[:1]:
            self.ambiguous = True  # the model itself looks at the layout
        elif expected != call:
            self._suspects |= {_address(t): t.untyped_storage() for t in (*inputs, *outputs) if _address(t)}


@torch.no_grad()
def answers_agree(output: Any, reference: Any, dtype: torch.dtype | None) -> bool | None:
    """Tell whether two outputs of a model differ by no more than rounding; None where they are not finite."""
    mine, others = list_tensors(output), list_tensors(reference)
    if len(mine) != len(others):
        return False
    for ours, theirs in zip(mine, others, strict=True):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            return False
        if not theirs.is_floating_point() or not theirs.numel():
            continue
        within = NARROW_ROUNDING if dtype else ROUNDING.get(theirs.dtype, NARROW_ROUNDING)
        size, apart = torch.stack([theirs.double().norm(), (ours.double() - theirs.double()).norm()]).tolist()
        if not size < float("inf"):
            return None
        if not apart <= within * size:
            return False
    return True


def has_own_gradients(output: Any) -> bool:
    """Tell whether a gradient of the model's own, which may ask for a layout, has a part in an output."""
    nodes, seen = [tensor.grad_fn for tensor in list_tensors(output)], set()
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        function = getattr(node, "_forward_cls", None)
        if function is not None and not function.__module__.startswith("tent."):  # ours take any layout
            return True
        nodes += [following for following, _ in node.next_functions]
    return False


def _channels_first(norm: Callable[..., Tensor], x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    # torch adds up a channel of many images far less exactly where channels come last
    output = norm(x.contiguous(), *args, **kwargs)
    return output if x.is_contiguous() else torch.empty_like(x).copy_(output)


def _version(tensor: Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version


def _address(tensor: Tensor) -> int:
    # 0 where there is no memory of its own: sparse tensors, and those inside transforms
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return 0
