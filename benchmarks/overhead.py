"""A Tent step of the engine against a hand-written loop of the same algorithm, interleaved in one run, as ratios."""

import argparse
import copy
import statistics
import time
from collections.abc import Callable

import timm
import torch
from torch import Tensor, nn

import tent
from tent.models.resnet import r26


def by_hand(model: nn.Module) -> Callable[[Tensor], Tensor]:
    """Return the paper's step, written out: train-mode batch norms, Adam on γ and β, the entropy's mean."""
    model = copy.deepcopy(model).train().requires_grad_(False)
    params = []
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.track_running_stats = False
            module.running_mean = module.running_var = None
            params += [module.weight.requires_grad_(), module.bias.requires_grad_()]
    optimizer = torch.optim.Adam(params, lr=1e-3)

    def step(x: Tensor) -> Tensor:
        logits: Tensor = model(x)
        loss = -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()
        return logits.detach()

    return step


def ratio(model: nn.Module, x: Tensor, repeats: int) -> tuple[float, float, float]:
    """Return the median seconds of the loop and of the engine, and the median of the ratios of neighbouring steps."""
    loop, engine = by_hand(model), tent.adapt(model)
    times: tuple[list[float], list[float]] = ([], [])
    for i in range(repeats + 3):
        order = ((0, loop), (1, engine)) if i % 2 else ((1, engine), (0, loop))
        for which, step in order:
            start = time.perf_counter()
            step(x)
            if i >= 3:  # the first are warm-up
                times[which].append(time.perf_counter() - start)
    ratios = [ours / theirs for theirs, ours in zip(*times, strict=True)]
    return statistics.median(times[0]), statistics.median(times[1]), statistics.median(ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    repeats = parser.parse_args().repeats
    cases = {
        "CIFAR ResNet-26, batch 128": (r26(classes=10), torch.randn(128, 3, 32, 32)),
        "ResNet-50 at 224, batch 8": (timm.create_model("resnet50"), torch.randn(8, 3, 224, 224)),
    }
    print(f"{'':28}{'by hand':>10}{'tent':>10}{'ratio':>8}   ({repeats} repeats, {torch.get_num_threads()} threads)")
    for name, (model, x) in cases.items():
        theirs, ours, quotient = ratio(model.eval(), x, repeats)
        print(f"{name:28}{theirs:9.3f}s{ours:9.3f}s{quotient:8.3f}")


if __name__ == "__main__":
    main()
