"""The error of a model on a labelled set, before anything adapts."""

import torch
from torch import nn

from tent.data import Images, Preprocess, Stream


def clean_error(model: nn.Module, data: Images, preprocess: Preprocess, batch: int = 500) -> float:
    """Share of a set that the model, in eval mode and float32, gets wrong."""
    device, training, wrong = next(model.parameters()).device, model.training, 0
    model.eval()
    with torch.inference_mode():
        for x, y in Stream(data, batch, None, preprocess):
            wrong += int((model(x.to(device)).argmax(1).cpu() != y).sum())
    model.train(training)
    return wrong / len(data)
