"""What the methods of this room share: which predictions are certain, and a pass over the samples that are kept."""

from torch import Tensor, nn

from tent.engine.state import NotFiniteError
from tent.engine.structures import list_tensors, map_tensors
from tent.losses import entropy, entropy_margin
from tent.method import ForwardPass, State


def find_certain(seen: ForwardPass, state: State, share: float) -> tuple[Tensor, Tensor]:
    """Return each prediction's entropy, and whether it is below a share of the greatest there is."""
    entropies = entropy(seen.logits)
    if state.group is None and not bool(entropies.isfinite().all()):  # ranks find out together, by their loss
        raise NotFiniteError("its predictions are not finite")
    return entropies, entropies.detach() < entropy_margin(seen.logits, share)


def run_kept(seen: ForwardPass, state: State, kept: Tensor, params: dict[str, Tensor]) -> ForwardPass | None:
    """Return a pass over the kept samples alone, or None where its gradient would not be that of the whole batch.

    It is the same where no sample's output depends on another's: one label a sample, and no batch norm in the model.
    """
    inputs, model = list_tensors(seen.inputs), state.model
    apart = kept.dim() == 1 and all(tensor.dim() and len(tensor) == len(kept) for tensor in inputs)
    norms = state.setup.source.norms or any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in model.modules())
    if not apart or norms or state.group is not None:
        return None
    state.clear_gradients()  # and the graph of the whole batch
    args, kwargs = map_tensors(seen.inputs, lambda tensor: tensor[kept])
    return state.forward(*args, **kwargs, params=params)
