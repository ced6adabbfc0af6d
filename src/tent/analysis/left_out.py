"""Which figures cannot be drawn of a model and its data, and why: known before anything is run."""

from collections.abc import Mapping

from tent.adapted import Adapted
from tent.analysis import FIGURES, ChangeOfLoss, Domain, Movement
from tent.data import Stream


def list_left_out(models: Mapping[str, Adapted], streams: Mapping[Domain, Stream], method: str) -> dict[str, str]:
    """Return, by figure, why it cannot be drawn of these methods and streams."""
    found = {}
    if not all(stream.labelled for domain, stream in streams.items() if not domain.original):
        needy = [name for name, kind in FIGURES.items() if kind.needs_labels]
        found = dict.fromkeys(needy, "needs labels, and the data have none")
    if not any(set(model.state.params) & set(model.state.source) for model in models.values()):
        found[Movement.name] = f"nothing moves under {method}"
    if len(models) < 2:
        found.setdefault(ChangeOfLoss.name, f"compares two methods, and {method} is the only one; choose another")
    return found
