"""Eval mode while calls are under way, so that dropout and stochastic depth stay off; then as it was found."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import nn

_lock = threading.Lock()
_held: dict[nn.Module, int] = {}  # modules found in train mode -> calls under way; empty when none is


@contextmanager
def evaluating(modules: Sequence[nn.Module]) -> Iterator[None]:
    """Hold the modules in eval mode; the last of the calls under way, from whichever thread, puts train mode back."""
    with _lock:
        mine = [module for module in modules if module.training or module in _held]
        for module in mine:
            _held[module] = _held.get(module, 0) + 1
            module.training = False
    try:
        yield
    finally:
        with _lock:
            for module in mine:
                _held[module] -= 1
                if not _held[module]:
                    del _held[module]
                    module.training = True
