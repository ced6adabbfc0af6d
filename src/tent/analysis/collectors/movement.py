"""Which parameters moved, and how far, by depth."""

from collections.abc import Mapping

import numpy as np

from tent.adapted import Adapted
from tent.analysis.collector import Collector
from tent.analysis.numbers import Numbers, Row
from tent.analysis.observation import Domain, Floats
from tent.select import norm_affine

GREEK = {"weight": "γ", "gamma": "γ", "bias": "β", "beta": "β"}  # of a norm layer


class Movement(Collector):
    """How far each tensor went from the source's, at the end of every domain: the root mean square over domains."""

    name = "movement"
    needs_labels = False

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], Floats] = {}  # squares of the change, of the source, and the change itself
        self._sizes: dict[str, int] = {}
        self._affine: set[str] = set()  # γ and β of norm layers
        self._domains: dict[str, int] = {}

    def end_domain(self, domain: Domain, models: Mapping[str, Adapted]) -> None:
        """Measure what every method has moved."""
        for method, model in models.items():
            self._domains[method] = self._domains.get(method, 0) + 1
            self._affine |= set(norm_affine(model.source))
            for name, tensor in model.state.params.items():
                if name not in model.state.source:
                    continue  # a parameter of the method's own
                source = model.state.source[name].double()
                change = tensor.detach().double() - source
                own = np.array([float((change**2).mean()), float((source**2).mean()), float(change.mean())])
                self._sums[method, name] = self._sums.get((method, name), np.zeros(3)) + own
                self._sizes[name] = tensor.numel()

    def numbers(self) -> Numbers:
        """Return every tensor that a method may move, in the model's order."""
        if not self._sums:
            methods = ", ".join(self._domains) or "none"
            raise ValueError(f"{self.name}: no parameter moves under {methods}; analyse a method that moves some")
        rows: list[Row] = []
        for (method, name), sums in self._sums.items():
            squares, source, mean = (sums / self._domains[method]).tolist()
            layer, _, own = name.rpartition(".")
            layers = dict.fromkeys(each.rpartition(".")[0] for other, each in self._sums if other == method)
            rows.append(
                {
                    "method": method,
                    "depth": list(layers).index(layer) + 1,
                    "layer": layer,
                    "parameter": GREEK.get(own, own) if name in self._affine else own,
                    "size": self._sizes[name],
                    "change": squares**0.5,
                    "relative": (squares / source) ** 0.5 if source else None,
                    "mean": mean,
                }
            )
        return Numbers(self.name, {"": rows}, {"domains": self._domains})
