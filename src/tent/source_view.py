"""A source model's attributes, to be read: its parts and methods run at the adapted parameters, without an update."""

import functools
import inspect
import re
from collections.abc import Callable, Generator, Iterator
from typing import Any, NoReturn

from torch import Tensor, nn

from tent.engine.state import State

Call = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]

# methods that change a model, or that would save the source in the place of what has adapted
_WRITES = re.compile(
    r"_*(set|reset|init|load|save|push|add|register|remove|delete|resize|enable|disable|freeze|unfreeze|tie|fuse"
    r"|prune|post_init|gradient_checkpointing|requires_grad|zero_grad|train|to|half|float|double|cuda|compile)(_|$)"
)


class SourceView:
    """Shows values of a source model without a way to write to it.

    Args:
        call: runs a part or method of the source at the adapted parameters.
    """

    def __init__(self, state: State, call: Call) -> None:
        self.state, self.call = state, call

    def attribute(self, module: nn.Module, name: str) -> Any:
        """Return an attribute of the model or of one of its parts."""
        return self.show(getattr(module, name))

    def show(self, value: Any) -> Any:
        """Return a value as it is seen from outside: tensors as copies, parts and methods as what runs adapted."""
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, nn.Module):
            return Part(self, value)
        if type(value) in (list, tuple):
            return type(value)(self.show(item) for item in value)
        if type(value) is dict:
            return {key: self.show(item) for key, item in value.items()}
        if isinstance(value, Generator):  # what it would yield later, it would yield of the source
            return iter([self.show(item) for item in value])
        if inspect.ismethod(value) and isinstance(value.__self__, nn.Module):
            return self._method(value)
        return value

    def _tensor(self, value: Tensor) -> Tensor:
        state = self.state
        moved = {id(state.setup.source.parameter(name)): name for name in state.setup.names}
        return (state.params[moved[id(value)]] if id(value) in moved else value).detach().clone()

    def _method(self, method: Any) -> Any:
        @functools.wraps(method)
        def run(*args: Any, **kwargs: Any) -> Any:
            if _WRITES.match(method.__name__):
                raise RuntimeError(
                    f"{method.__name__} is the source model's own, which is never written to; call it before "
                    "tent.adapt, or change and save a plain copy: adapted.baked(...)"
                )
            return self.call(lambda *a, **k: self.show(method(*a, **k)), args, kwargs)

        return run


class Part:
    """A part of a source model: it is called at the adapted parameters, read, and never written to."""

    def __init__(self, view: SourceView, module: nn.Module) -> None:
        self.__dict__.update(_view=view, _module=module)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # so that isinstance answers as for the part itself
        return type(self._module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the part at the adapted parameters."""
        return self._view.call(self._module, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"a part of an adapted model has no {name}")
        return self._view.attribute(self._module, name)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{name} is the source model's, which is never written to; change it, then adapt it")

    def __getitem__(self, key: Any) -> Any:
        return self._view.show(self._module[key])

    def __iter__(self) -> Iterator[Any]:
        return (self._view.show(item) for item in self._module)

    def __len__(self) -> int:
        return len(self._module)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a part of an adapted model is not copied; take it from adapted.baked(...)")

    def __repr__(self) -> str:
        return repr(self._module)
