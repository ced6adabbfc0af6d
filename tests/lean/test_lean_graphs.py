"""Random models that write in place and view their tensors in all shapes: lean against plain, in float64."""

import os
import random
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import tent

GRAPHS = int(os.environ.get("TENT_GRAPHS", "40"))

Step = Callable[["Graph", list[Tensor]], None]  # changes the list of images that are alive, all of one shape


def pick(graph: "Graph", alive: list[Tensor]) -> Tensor:
    return alive[graph.draw.randrange(len(alive))]


def add(graph: "Graph", alive: list[Tensor]) -> None:
    alive.append(pick(graph, alive) + pick(graph, alive))


def convolve(graph: "Graph", alive: list[Tensor]) -> None:
    alive.append(graph.convs[graph.draw.randrange(2)](pick(graph, alive)))


def normalise(graph: "Graph", alive: list[Tensor]) -> None:
    alive.append(graph.norms[graph.draw.randrange(2)](pick(graph, alive)))


def group(graph: "Graph", alive: list[Tensor]) -> None:
    alive.append(graph.group(pick(graph, alive)))


def activate(graph: "Graph", alive: list[Tensor]) -> None:
    function = graph.draw.choice([F.relu, F.silu, F.gelu, F.hardswish, F.relu6])
    alive.append(function(pick(graph, alive)))


def activate_in_place(graph: "Graph", alive: list[Tensor]) -> None:
    function = graph.draw.choice([F.relu, F.silu, F.hardswish])
    function(pick(graph, alive), inplace=True)


def mix(graph: "Graph", alive: list[Tensor]) -> None:
    x = pick(graph, alive).permute(0, 2, 3, 1)
    alive.append(graph.down(F.gelu(graph.up(x))).permute(0, 3, 1, 2))


def mix_and_write(graph: "Graph", alive: list[Tensor]) -> None:
    x = pick(graph, alive).permute(0, 2, 3, 1)
    wide = graph.up(x)
    if graph.draw.random() < 0.5:
        x += 0.5
    alive.append(graph.down(F.gelu(wide)).permute(0, 3, 1, 2))
    if graph.draw.random() < 0.5:
        x *= 0.9


def scale(graph: "Graph", alive: list[Tensor]) -> None:
    pick(graph, alive).mul_(graph.draw.choice([0.5, 0.9, -1.0]))


def write_part(graph: "Graph", alive: list[Tensor]) -> None:
    pick(graph, alive)[:, graph.draw.randrange(4)] = 0.25


def flatten_and_write(graph: "Graph", alive: list[Tensor]) -> None:
    x = pick(graph, alive)
    flat = graph.draw.choice([lambda: x.reshape(len(x), -1), lambda: x.flatten(1), lambda: x.flatten(2)])()
    flat[:, :: graph.draw.choice([2, 3])] = 0.1
    if graph.draw.random() < 0.5:
        alive.append(flat.reshape(x.shape) * 1.1)


def last_and_write(graph: "Graph", alive: list[Tensor]) -> None:
    x = pick(graph, alive)
    y = x.permute(0, 2, 3, 1).contiguous()
    y += 0.3
    alive.append(y.permute(0, 3, 1, 2) if graph.draw.random() < 0.5 else x * y.permute(0, 3, 1, 2))


def copy_and_write(graph: "Graph", alive: list[Tensor]) -> None:
    y = pick(graph, alive).contiguous()
    y -= 0.2
    alive.append(y)


def view_pieces(graph: "Graph", alive: list[Tensor]) -> None:
    first, second = pick(graph, alive).chunk(2, 1)
    first += second.tanh()
    alive.append(torch.cat([second, first], 1))


def pool(graph: "Graph", alive: list[Tensor]) -> None:
    function = graph.draw.choice([F.max_pool2d, F.avg_pool2d])
    alive.append(function(pick(graph, alive), 3, 1, 1))


STEPS: list[Step] = [
    *(add, convolve, convolve, normalise, normalise, group, activate, activate, activate_in_place, mix, mix_and_write),
    *(scale, write_part, flatten_and_write, last_and_write, copy_and_write, view_pieces, pool),
]


class Graph(nn.Module):
    """A model whose forward pass is drawn by its seed, the same every time."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.seed, self.draw = seed, random.Random(seed)
        self.stem, self.convs = nn.Conv2d(3, 4, 3), nn.ModuleList(nn.Conv2d(4, 4, k, padding=k // 2) for k in (1, 3))
        self.norms, self.group = nn.ModuleList(nn.BatchNorm2d(4) for _ in range(2)), nn.GroupNorm(2, 4)
        self.up, self.down, self.fc = nn.Linear(4, 16), nn.Linear(16, 4), nn.Linear(4, 5)

    def forward(self, x: Tensor) -> Tensor:
        self.draw.seed(self.seed)
        alive = [self.norms[0](self.stem(x))]
        for _ in range(self.draw.randrange(3, 12)):
            self.draw.choice(STEPS)(self, alive)
        return self.fc(torch.stack(alive[-3:]).mean((0, 3, 4)))


def outcome(model: nn.Module, x: Tensor, lean: bool) -> list[Tensor]:
    adapted = tent.adapt(model, lean=lean, optimizer=torch.optim.SGD, lr=0.1)
    return [adapted(x), adapted(x), *(param.detach() for param in adapted.parameters())]


@pytest.mark.parametrize("seed", range(GRAPHS))
def test_lean_is_plain_on_a_random_graph(seed: int) -> None:
    model, x = Graph(seed).double().eval(), torch.randn(5, 3, 8, 8, dtype=torch.float64)
    try:
        expected = outcome(model, x, lean=False)
    except RuntimeError:
        return  # it writes to what autograd needs
    for one, other in zip(outcome(model, x, lean=True), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-8)
