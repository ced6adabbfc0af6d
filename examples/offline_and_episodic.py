"""When to update: on every batch (online), on all images first (offline), or on each image alone (episodic)."""

import numpy as np

import tent
from tent.data import Stream
from tent.data.corruptions import corrupt
from tent.data.sample import sample
from tent.data.sets.arrays import ArrayImages
from tent.evaluate import evaluate
from tent.models import zoo
from tent.tasks import Classification

entry, clean = zoo.load("r26-cifar10"), sample()
chosen = np.arange(0, 2000, 10)
images = ArrayImages("fog", corrupt(np.asarray(clean.fetch(chosen)), "fog", 5), clean.targets(chosen), 10)
stream = Stream(images, 50, preprocess=entry.preprocess)
single = Stream(images, 1, preprocess=entry.preprocess).first(20)


def error(adapted: tent.Adapted, stream: Stream, epochs: int = 0) -> float:
    """Return the error on a stream; with epochs, after so many passes of updates."""
    return evaluate(adapted, stream, Classification(10), offline=epochs > 0, epochs=max(epochs, 1)).metrics["error"]


print(f"source    {error(tent.adapt(entry.model, tent.Source()), stream):.1%}")
print(f"online    {error(tent.adapt(entry.model), stream):.1%}")
print(f"offline   {error(tent.adapt(entry.model), stream, epochs=2):.1%}")
episodic = tent.adapt(entry.model, episodic=True, steps=5, stats=tent.norm.Prior(8))
print(f"episodic  {error(episodic, single):.1%} (the first 20 images, one by one)")
