"""RDumb: a simple approach to continual test-time adaptation (Press et al., NeurIPS 2023)."""

from dataclasses import dataclass

from tent.method import ForwardPass, State, require_whole
from tent.methods.filtered.eata import ETA


@dataclass(frozen=True, repr=False)
class RDumb(ETA):
    """ETA that goes back to the source, optimizer and mean prediction included, after every so many steps."""

    every: int = 1000  # steps, whatever the batch size

    def __post_init__(self) -> None:
        super().__post_init__()
        require_whole(self, "every")

    def step(self, seen: ForwardPass, state: State) -> None:
        """Take ETA's step, and reset behind the last one of each round."""
        super().step(seen, state)
        if state.step + 1 >= self.every:
            state.reset()
