"""CMF: the continual momentum filter (Lee and Chang, ICLR 2024)."""

from dataclasses import dataclass

import torch

from tent.method import State
from tent.methods.continual.roid import ROID

SIZE = 38400  # values that the paper's noise is given for
LEAST, MOST = 0.89, 0.9999  # of the filter's weight; above, nothing is taken from the parameters at all


@dataclass(frozen=True, repr=False)
class CMF(ROID):
    """ROID, but tied to a hidden model: a Kalman filter of the parameters that leans back to the source.

    A reset also clears the filter's variance, which the paper's code forgets.
    """

    blend: float = 0.99  # of the parameters in every step; the rest is the hidden model's
    noise: float = 0.005  # of the filter's process, for 38,400 values that move

    def start(self, state: State) -> None:
        """Begin the hidden model at the source, without variance."""
        if state.params and not 0 < self._noise(state) < 1:
            raise ValueError(
                f"CMF noise must be above 0 and below {SIZE / state.size:.3g} for {state.size:,} values that move, "
                f"got {self.noise}; select fewer or lower it"
            )
        state.tensors.update({f"hidden {name}": param.clone() for name, param in state.params.items()})
        state.tensors["variance"] = torch.zeros((), dtype=torch.float64)

    def ensemble(self, state: State) -> None:
        """Predict the hidden model, correct it by the parameters, and move them a little toward it."""
        noise = self._noise(state)
        variance = self.momentum**2 * float(state.tensors["variance"]) + noise
        weight = max((1 - noise) / (variance + 1 - noise), LEAST)
        weight = 1.0 if weight >= MOST else weight
        state.tensors["variance"] = torch.tensor(weight * variance, dtype=torch.float64)
        for name, param in state.params.items():
            predicted = state.tensors[f"hidden {name}"].lerp(state.source[name].to(param.dtype), 1 - self.momentum)
            hidden = predicted.lerp(param.detach(), 1 - weight)
            state.tensors[f"hidden {name}"] = hidden
            param.lerp_(hidden, 1 - self.blend)

    def _noise(self, state: State) -> float:
        return self.noise * state.size / SIZE
