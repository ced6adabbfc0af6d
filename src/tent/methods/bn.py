"""BN: test-time normalisation (Schneider et al., NeurIPS 2020; Nado et al. 2020)."""

from tent import norm
from tent.method import Method


class BN(Method):
    """Normalise by the statistics of the test batch; no parameter moves."""

    stats = norm.Batch()
