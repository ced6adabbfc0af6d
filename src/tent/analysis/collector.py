"""What collects the numbers of a figure: it is told of batches one by one, keeps sums, and gives numbers at the end."""

from collections.abc import Mapping
from typing import ClassVar

from tent.adapted import Adapted
from tent.analysis.numbers import Numbers
from tent.analysis.observation import Domain, Observation


class Collector:
    """The numbers of one figure, added up batch by batch; what is kept does not grow with the number of images."""

    name: ClassVar[str]
    needs_labels: ClassVar[bool] = True
    sees_original: ClassVar[bool] = False  # whether the original data are part of it

    def add(self, seen: Observation) -> None:
        """Count a batch."""

    def end_domain(self, domain: Domain, models: Mapping[str, Adapted]) -> None:
        """Look at the models as a domain has left them."""

    def numbers(self) -> Numbers:
        """Return what was counted."""
        raise NotImplementedError
