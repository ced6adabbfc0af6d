"""Text: a class for each text or for each token, where padding is not counted."""

from typing import Any

from torch import Tensor

from tent.engine.structures import Inputs, Picker
from tent.tasks.classification import Classification


class TextClassification(Classification):
    """A class for each text, (n, classes), or each token: labels (n, tokens), -100 where there is none to tell."""

    ignore: int

    def __init__(self, classes: int | None = None, ignore: int = -100) -> None:
        super().__init__(classes, ignore)

    def read(self, output: Any, inputs: Inputs, labels: Any, pick: Picker | None = None) -> tuple[Tensor, Tensor]:
        """Return the logits, (n, classes, ...), and the labels, which leave out what the attention mask does."""
        logits, labels = super().read(output, ((), {}), labels, pick)  # without a mask, tokens stay with their texts
        mask = inputs[1].get("attention_mask")
        if isinstance(mask, Tensor) and mask.shape == labels.shape:
            labels = labels.masked_fill(~mask.bool().to(labels.device), self.ignore)
        return logits, labels
