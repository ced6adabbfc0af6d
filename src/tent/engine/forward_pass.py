"""One forward pass: what went in, what came out, and what the last layer was given."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from torch import Tensor

from tent.engine.mode import Moments, PassContext
from tent.engine.structures import Inputs, Picker, find_logits, replace_logits


class ForwardPass:
    """One pass of the model over a batch; the engine's own are made when they are first looked at.

    Args:
        run: makes the pass: the model's output, and what the pass left behind.
        pick: the caller's way to the logits.
    """

    def __init__(self, inputs: Inputs, run: Callable[[], tuple[Any, PassContext]], pick: Picker | None = None) -> None:
        self.inputs, self._run, self._pick = inputs, run, pick
        self.notes: dict[str, Any] = {}  # what a method computes once for both its step and its answer

    @cached_property
    def _result(self) -> tuple[Any, PassContext]:
        return self._run()

    @property
    def ran(self) -> bool:
        """Whether the model was run already."""
        return "_result" in self.__dict__

    @property
    def output(self) -> Any:
        """What the model returned."""
        return self._result[0]

    @property
    def features(self) -> Tensor | None:
        """What the last layer was given."""
        return self._result[1].features

    @property
    def moments(self) -> dict[str, Moments]:
        """What the batch norms were normalised by, where that is kept."""
        return self._result[1].moments

    @cached_property
    def logits(self) -> Tensor:
        """The logits in the output, classes on axis 1; looked for when a method asks, since not every method does."""
        logits = find_logits(self.output, self.inputs, self._pick)
        if logits.shape[1] < 2:
            raise ValueError(
                f"logits of shape {tuple(logits.shape)} name one class, whose probability is always 1; "
                "for a yes/no model pass adapt(model, logits=lambda z: torch.cat([torch.zeros_like(z), z], 1))"
            )
        return logits

    def with_logits(self, logits: Tensor) -> Any:
        """Return the model's output, in its own type, with other logits in the place of its own."""
        if logits.shape != self.logits.shape:
            raise ValueError(f"logits of shape {tuple(logits.shape)} in the place of {tuple(self.logits.shape)}")
        return replace_logits(self.output, self.inputs, self.logits, logits)
