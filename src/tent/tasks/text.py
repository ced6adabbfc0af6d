"""Text: a class for each text or for each token, where padding is not counted."""

from typing import Any

from torch import Tensor

from tent.engine.structures import Inputs, Picker, find_logits
from tent.tasks.classification import Classification


class TextClassification(Classification):
    """A class for each text, (n, classes), or each token: labels (n, tokens), -100 where there is none to tell."""

    def __init__(self, classes: int | None = None, ignore: int = -100) -> None:
        super().__init__(classes, ignore)

    def observe(self, output: Any, inputs: Inputs, labels: Any, pick: Picker | None = None) -> None:
        """Count a batch; tokens that the attention mask leaves out are left out of the labels too."""
        logits, mask = pick(output) if pick else find_logits(output, inputs), inputs[1].get("attention_mask")
        if isinstance(mask, Tensor) and mask.shape == labels.shape:
            real = mask.bool().to(labels.device)
            labels = labels[real] if logits.dim() == 2 else labels.masked_fill(~real, self.ignore)
        self.update(logits, labels)
