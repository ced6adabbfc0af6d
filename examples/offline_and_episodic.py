"""When to learn: from the whole target set first (offline), or from each image alone (episodic)."""

import numpy as np

import tent
from tent.data import Stream
from tent.data.arrays import ArrayImages
from tent.data.corruptions import corrupt
from tent.data.sample import sample
from tent.models import zoo

entry, clean = zoo.load("r26-cifar10"), sample()
first = np.arange(400)
images = ArrayImages("fog", corrupt(np.asarray(clean.fetch(first)), "fog", 5), clean.targets(first), 10)


def error(adapted: tent.Adapted, batch_size: int, count: int) -> float:
    stream = Stream(images, batch_size, preprocess=entry.preprocess).first(count)
    return sum(int((adapted(x).argmax(1) != y).sum()) for x, y, _ in stream) / count


print(f"source    {error(tent.adapt(entry.model, tent.Source()), 100, 400):.1%}")
print(f"online    {error(tent.adapt(entry.model), 100, 400):.1%}")
offline = tent.adapt(entry.model).fit(Stream(images, 100, preprocess=entry.preprocess), epochs=3)
with offline.paused():
    print(f"offline   {error(offline, 100, 400):.1%}")
episodic = tent.adapt(entry.model, episodic=True, steps=5, stats=tent.norm.Prior(8))
print(f"episodic  {error(episodic, 1, 50):.1%} (the first 50 images, one by one)")
