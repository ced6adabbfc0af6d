"""The error of a model on a labelled set, before anything adapts."""

import numpy as np
import torch
from torch import nn

from tent.data import Images, Preprocess
from tent.train.source import pixels_of


def clean_error(model: nn.Module, data: Images, preprocess: Preprocess, batch: int = 500) -> float:
    """Share of a set that the model, in eval mode and float32, gets wrong."""
    device, training, wrong = next(model.parameters()).device, model.training, 0
    model.eval()
    with torch.inference_mode():
        for first in range(0, len(data), batch):
            indices = np.arange(first, min(first + batch, len(data)))
            answers = model(preprocess(pixels_of(data, indices)).to(device)).argmax(1).cpu().numpy()
            wrong += int((answers != data.targets(indices)).sum())
    model.train(training)
    return wrong / len(data)
