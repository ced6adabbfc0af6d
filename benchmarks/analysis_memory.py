"""Memory of an analysis: 750,000 made predictions of 100 classes by three methods, counted by every figure of them.

That is CIFAR-100-C: 15 types at 5 levels, 10,000 images each. Prints the peak of the process and what it had before.
"""

import argparse
import resource

import numpy as np
import torch

from tent.analysis import (
    AlongStream,
    Calibration,
    ChangeOfLoss,
    Collector,
    Confusion,
    Domain,
    ErrorByEntropy,
    ErrorByType,
    LossByLevel,
    Observation,
    predict,
)

METHODS, CLASSES, BATCH = ("Source", "BN", "Tent"), 100, 1_000


def peak() -> float:
    """Return the most memory that the process has had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=10_000, help="of each type and level")
    images = parser.parse_args().images
    random = torch.Generator().manual_seed(0)
    figures: list[Collector] = [ErrorByEntropy(), LossByLevel(), ErrorByType(), ChangeOfLoss(), Calibration()]
    figures += [Confusion(), AlongStream()]
    before = peak()
    for kind in range(15):
        for level in range(1, 6):
            domain = Domain(f"type {kind} {level}", f"type {kind}", level)
            for _ in range(images // BATCH):
                labels = torch.randint(0, CLASSES, (BATCH,), generator=random)
                logits = {name: 3 * torch.randn(BATCH, CLASSES, generator=random) for name in METHODS}
                seen = {name: predict(own, labels) for name, own in logits.items()}
                for figure in figures:
                    figure.add(Observation(domain, np.asarray(labels), seen))
    for figure in figures:
        figure.numbers()
    print(f"{75 * (images // BATCH) * BATCH:,} predictions: peak {peak():.2f} GB, {before:.2f} GB before the first")


if __name__ == "__main__":
    main()
