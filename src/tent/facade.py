"""What an adaptation is to the rest of torch: a module with its source's attributes, and parameters that move."""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import torch
from torch import Tensor, nn
from torch.nn.modules.module import _IncompatibleKeys

from tent.artifacts.delta import pack, unpack
from tent.engine.calls import Access
from tent.engine.engine import Engine
from tent.engine.mode import clean_stack
from tent.engine.source_model import eval_mode
from tent.engine.state import State
from tent.engine.structures import detach_inputs
from tent.source_view import SourceView


class Forward:
    """An adaptation's forward, with the signature of its source's: trainers read from it what a model takes."""

    def __init__(self, adapted: "Facade | None" = None) -> None:
        self._adapted = adapted

    def __get__(self, adapted: "Facade | None", owner: Any) -> "Forward":
        return Forward(adapted)

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        """Answer as the model does."""
        adapted, *rest = (self._adapted, *inputs) if self._adapted is not None else inputs
        return adapted._answer(tuple(rest), kwargs)

    @property
    def __signature__(self) -> inspect.Signature:
        source = Facade._answer if self._adapted is None else self._adapted.source.forward
        return inspect.signature(source)


class Facade(nn.Module):
    """A module around a source model, whose attributes it shows; nothing here writes to the source."""

    forward = Forward()

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self.engine, self._access = engine, Access()

    @property
    def source(self) -> nn.Module:
        """The model that was handed in."""
        return self.state.model

    @property
    def state(self) -> State:
        """What this adaptation holds beside its source: parameters, memory, optimizer and counts."""
        return self.engine.state

    def _answer(self, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "engine" not in self.__dict__:  # what Python asks for itself, or too early
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        try:
            return super().__getattr__(name)  # a buffer or a part that someone has added
        except AttributeError:
            return SourceView(self.state, self._call).attribute(self.source, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if "engine" in self.__dict__ and isinstance(value, nn.Module | Tensor) and hasattr(self.source, name):
            raise AttributeError(f"{name} is the source model's, which is never written to; change it, then adapt it")
        super().__setattr__(name, value)

    def __copy__(self) -> NoReturn:
        raise TypeError("a shallow copy would share what is adapted; use copy.deepcopy, or adapt the source once more")

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Return the delta's tensors: what moved, under its names in the source model's own state_dict."""
        with self._access.alone():
            tensors = {prefix + name: tensor for name, tensor in pack(self.state).items()}
        return tensors if destination is None else destination.update(tensors)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Load a delta's tensors; what is not among them goes back to the source."""
        with self._access.alone():
            fresh, missing, unexpected = unpack(state_dict, self.state, strict)
            self.state.adopt(fresh)
        return _IncompatibleKeys(missing, unexpected)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Yield what moves; the source's own parameters are not this module's."""
        yield from self.state.params.items()

    def _call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # a part or method of the source, as under paused()
        with self._run():
            return self.state.call(function, detach_inputs((args, kwargs)))

    @contextmanager
    def _run(self) -> Iterator[None]:
        with self._access.run(), torch.inference_mode(False), eval_mode(self.state.setup.source.modules), clean_stack():
            try:
                yield
            finally:
                self.state.setup.execution.end_pass()

    def _apply(self, fn: Any, recurse: bool = True) -> "Facade":
        for tensor in [p.detach() for p in self.source.parameters()][:1]:
            moved = fn(tensor)
            if (moved.device, moved.dtype) != (tensor.device, tensor.dtype):
                raise RuntimeError("the source model is never written to; move or convert it first, then adapt it")
        return self


def refuse_adapted(model: nn.Module) -> None:
    """Refuse a model that is adapted already, or a part of which is."""
    parts = [model] if isinstance(model, nn.Module) else []
    for part in parts:  # not torch's own list of modules, which fails on modules that have no hash
        if isinstance(part, Facade):
            raise ValueError("the model is adapted already; adapt its source: tent.adapt(adapted.source)")
        parts += [own for own in part._modules.values() if own is not None]
