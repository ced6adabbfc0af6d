"""The first filter of every method in this room: which predictions are certain enough to learn from."""

from torch import Tensor

from tent.engine.state import NotFiniteError
from tent.losses import entropy, entropy_margin
from tent.method import ForwardPass, State


def find_certain(seen: ForwardPass, state: State, share: float) -> tuple[Tensor, Tensor]:
    """Return each prediction's entropy, and whether it is below a share of the greatest there is."""
    entropies = entropy(seen.logits)
    if state.group is None and not bool(entropies.isfinite().all()):  # ranks find out together, by their loss
        raise NotFiniteError("its predictions are not finite")
    return entropies, entropies.detach() < entropy_margin(seen.logits, share)
