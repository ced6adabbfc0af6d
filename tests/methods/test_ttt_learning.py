"""TTT helps: a problem of seconds, four pictures in noise, and a camera that has its colours in another order."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from toys import TwoHeads

import tent
from tent.augment import random_rotation

SIDE, PICTURES = 12, 4
TRAINED, OTHER = (0, 1, 2), (1, 2, 0)  # orders of the colours
NORMS = {"batch norm": nn.BatchNorm2d, "group norm": partial(nn.GroupNorm, 2)}
Stream = list[tuple[Tensor, Tensor]]


def taken(random: torch.Generator, colours: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    coarse = torch.randn(PICTURES, 3, 4, 4, generator=torch.Generator().manual_seed(7))
    labels = torch.randint(PICTURES, (64,), generator=random)
    images = F.interpolate(coarse, size=SIDE, mode="bilinear")[labels]
    return (images + 0.6 * torch.randn(images.shape, generator=random))[:, colours], labels


def untrained(norm: Callable[[int], nn.Module]) -> nn.Module:
    blocks = [(nn.Conv2d(3, 8, 3, padding=1), norm(8)), (nn.Conv2d(8, 8, 3, stride=2, padding=1), norm(8))]
    trunk = nn.Sequential(*(layer for block in blocks for layer in (*block, nn.ReLU())))
    return TwoHeads(trunk, nn.Sequential(nn.Flatten(), nn.Linear(8 * 36, PICTURES)), norm(8))


@pytest.fixture(scope="module", params=NORMS)
def model(request: pytest.FixtureRequest) -> nn.Module:
    """Return a net that was trained on both tasks together."""
    random = torch.Generator().manual_seed(0)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = untrained(NORMS[request.param])
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _ in range(100):
        x, y = taken(random, TRAINED)
        turned, turns = random_rotation(x, random)
        loss = F.cross_entropy(net(x), y) + F.cross_entropy(net(turned, head="rotation"), turns)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net.eval()


def stream(colours: tuple[int, ...], count: int) -> Stream:
    random = torch.Generator().manual_seed(1)
    return [taken(random, colours) for _ in range(count)]


def error(answer: Callable[[Tensor], Tensor], batches: Stream) -> float:
    return sum(float((answer(x).argmax(1) != y).float().mean()) for x, y in batches) / len(batches)


def test_online_halves_the_error_and_the_loss(model: nn.Module) -> None:
    assert error(model, stream(TRAINED, 5)) < 0.02
    shifted = stream(OTHER, 20)
    adapted = tent.adapt(model, tent.TTT(), lr=1e-2)
    adapted(shifted[0][0])
    first = adapted.state.loss
    adapted.reset()
    ours, source, entropy = (error(answer, shifted) for answer in (adapted, model, tent.adapt(model)))
    assert ours < source / 2
    assert ours < entropy / 2  # so it is more than the statistics of the batch
    assert adapted.state.loss < first / 2


def test_each_image_for_itself_helps_too(model: nn.Module) -> None:
    images = [(image[None], label[None]) for x, y in stream(OTHER, 1) for image, label in zip(x, y, strict=True)]
    method, stats = tent.TTT(copies=16, shift=1), tent.norm.Source()
    adapted = tent.adapt(model, method, stats=stats, lr=1e-2, steps=5, episodic=True)
    assert error(adapted, images) < error(model, images) - 0.1


def test_what_the_model_was_trained_on_it_keeps(model: nn.Module) -> None:
    assert error(tent.adapt(model, tent.TTT(), lr=1e-2), stream(TRAINED, 20)) < 0.02
