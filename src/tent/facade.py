"""What an adaptation is to the rest of torch: a module whose parameters are what moves."""

from collections.abc import Iterator, Mapping
from typing import Any

from torch import nn
from torch.nn.modules.module import _IncompatibleKeys

from tent.artifacts.delta import pack, unpack
from tent.engine.calls import Access
from tent.engine.engine import Engine
from tent.engine.state import State


class Facade(nn.Module):
    """A module around a source model, which stays as it is: nothing here writes to it."""

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

    def _apply(self, fn: Any, recurse: bool = True) -> "Facade":
        for tensor in [p.detach() for p in self.source.parameters()][:1]:
            moved = fn(tensor)
            if (moved.device, moved.dtype) != (tensor.device, tensor.dtype):
                raise RuntimeError("the source model is never written to; move or convert it first, then adapt it")
        return self
