"""The methods of an analysis: the source model, BN and the one that is looked at."""

from collections.abc import Callable

from torch import nn

from tent.adapted import Adapted, adapt
from tent.method import Method
from tent.methods import BN, Source
from tent.norm import Stats


def adapt_with_baselines(
    model: nn.Module,
    method: Method,
    stats: Stats | None = None,
    lr: float | None = None,
    *,
    lean: bool = True,
    note: Callable[[str], None] = lambda line: None,
) -> dict[str, Adapted]:
    """Return the source, BN where the model has statistics to change, and the method.

    Args:
        note: told in one line if there is no BN.
    """
    models = {"Source": adapt(model, Source(), lean=lean)}
    if not isinstance(method, BN | Source):
        try:
            models["BN"] = adapt(model, BN(), stats=stats, lean=lean)
        except ValueError as nothing:
            note(f"figures are without BN: {nothing}")
    if not isinstance(method, Source):
        models[type(method).__name__] = adapt(model, method, stats=stats, lr=lr, lean=lean)
    return models
