"""Random models that write in place and view their tensors in all shapes, and that torch itself can go back through."""

import random
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

STEPS, TRIES = (3, 12), 12  # steps of a model; draws of a step until one is such that torch has gradients

Step = Callable[["Graph", list[Tensor]], None]  # changes the list of images that are alive, all of one shape


def pick(graph: "Graph", alive: list[Tensor]) -> Tensor:
    return alive[graph.draw.randrange(len(alive))]


def add(graph: "Graph", alive: list[Tensor]) -> None:
    alive.append(pick(graph, alive) + pick(graph, alive))


def convolve(graph: "Graph", alive: list[Tensor]) -> None:
    alive.append(graph.draw.choice([*graph.convs])(pick(graph, alive)))


def normalise(graph: "Graph", alive: list[Tensor]) -> None:
    alive.append(graph.draw.choice([*graph.norms, graph.group])(pick(graph, alive)))


def activate(graph: "Graph", alive: list[Tensor]) -> None:
    function = graph.draw.choice([F.relu, F.silu, F.gelu, F.hardswish, F.relu6, F.hardtanh])
    alive.append(function(pick(graph, alive)))


def activate_in_place(graph: "Graph", alive: list[Tensor]) -> None:
    function = graph.draw.choice([F.relu, F.silu, F.hardswish, F.relu6, F.hardtanh])
    function(pick(graph, alive), inplace=True)


def normalise_and_activate(graph: "Graph", alive: list[Tensor]) -> None:
    x = graph.draw.choice([*graph.norms])(pick(graph, alive))
    function = graph.draw.choice([F.relu, F.silu, F.hardswish, F.relu6, F.hardtanh])
    alive.append(function(x, inplace=graph.draw.random() < 0.5))
    write(graph, x)


def mix(graph: "Graph", alive: list[Tensor]) -> None:
    x = pick(graph, alive).permute(0, 2, 3, 1)
    wide = graph.draw.choice([*graph.ups])(x)
    write(graph, x)
    alive.append(graph.down(F.gelu(wide)).permute(0, 3, 1, 2))
    write(graph, x)


def mix_tokens(graph: "Graph", alive: list[Tensor]) -> None:
    image = pick(graph, alive)
    x = image.flatten(2).transpose(1, 2)
    x = x.contiguous() if graph.draw.random() < 0.7 else x
    y = graph.layer(x) if graph.draw.random() < 0.5 else x
    wide = graph.draw.choice([*graph.ups])(y)
    write(graph, x, y)
    after = F.gelu(wide) if graph.draw.random() < 0.7 else F.silu(wide, inplace=True)
    write(graph, x, y, wide)
    y = graph.down(after).transpose(1, 2).reshape(image.shape)
    if graph.draw.random() < 0.5:
        image += y
    alive.append(y)


def use_and_write(graph: "Graph", alive: list[Tensor]) -> None:
    x = pick(graph, alive)
    uses = [*graph.convs, *graph.norms, graph.group, F.relu, F.gelu, partial_pool(F.max_pool2d)]
    alive.append(graph.draw.choice(uses)(x))
    write(graph, x)


def scale(graph: "Graph", alive: list[Tensor]) -> None:
    pick(graph, alive).mul_(graph.draw.choice([0.5, 0.9, -1.0]))


def write_part(graph: "Graph", alive: list[Tensor]) -> None:
    pick(graph, alive)[:, graph.draw.randrange(4)] = 0.25


def write_view(graph: "Graph", alive: list[Tensor]) -> None:
    x = pick(graph, alive)
    views = [lambda: x.transpose(2, 3), lambda: x[:, ::2], lambda: x[1:], lambda: x.movedim(1, -1), lambda: x.detach()]
    graph.draw.choice(views)().add_(0.2)


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
    x = pick(graph, alive)
    first, second = x[:, :2], x.narrow(1, 2, 2)
    first += second.tanh()
    alive.append(torch.cat([second, first], 1))


def pool(graph: "Graph", alive: list[Tensor]) -> None:
    alive.append(partial_pool(graph.draw.choice([F.max_pool2d, F.avg_pool2d]))(pick(graph, alive)))


def partial_pool(function: Callable[..., Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda x: function(x, 3, 1, 1)


def write(graph: "Graph", *tensors: Tensor) -> None:
    """Write to one of the tensors, half of the time."""
    if graph.draw.random() < 0.5:
        x = graph.draw.choice(tensors)
        graph.draw.choice([lambda: x.add_(0.5), lambda: x.mul_(0.9), lambda: x[1:].sub_(0.1)])()


KINDS: list[Step] = [
    *(add, convolve, normalise, normalise, activate, activate, activate_in_place, normalise_and_activate, mix),
    *(mix_tokens, mix_tokens, use_and_write, use_and_write, scale, write_part, write_view, flatten_and_write),
    *(last_and_write, copy_and_write, view_pieces, pool),
]


class Graph(nn.Module):
    """A model whose forward pass is drawn by its seed, the same every time."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.stem, self.convs = nn.Conv2d(3, 4, 3), nn.ModuleList(nn.Conv2d(4, 4, k, padding=k // 2) for k in (1, 3))
        self.norms, self.group = nn.ModuleList(nn.BatchNorm2d(4) for _ in range(2)), nn.GroupNorm(2, 4)
        self.ups = nn.ModuleList(nn.Linear(4, 16) for _ in range(3))  # the lean path keeps what the first returns
        self.down, self.fc, self.layer = nn.Linear(16, 4), nn.Linear(4, 5), nn.LayerNorm(4)
        for layer in (*self.norms, self.group, self.layer):  # off the kink at 0, where rounding decides on a gradient
            nn.init.normal_(layer.weight, 1.0, 0.2)
            nn.init.normal_(layer.bias, 0.0, 0.2)
        self.double().eval()
        self.draw = random.Random(seed)
        self.program: list[tuple[Step, int]] = []
        self.program = list(self._draw_program())

    def forward(self, x: Tensor) -> Tensor:
        alive = [self.norms[0](self.stem(x))]
        for step, seed in self.program:
            self.draw.seed(seed)
            step(self, alive)
        return self.fc(torch.stack(alive[-3:]).mean((0, 3, 4)))

    def _draw_program(self) -> Iterator[tuple[Step, int]]:
        draw = random.Random(self.draw.random())
        for _ in range(draw.randrange(*STEPS)):
            before = self.program
            for _ in range(TRIES):
                self.program = [*before, (draw.choice(KINDS), draw.randrange(1 << 30))]
                if self._has_gradients():
                    yield self.program[-1]
                    break
                self.program = before

    def _has_gradients(self) -> bool:
        """Tell whether torch itself goes back through it: nothing writes to what autograd needs."""
        moving = [p for layer in (*self.norms, self.group, self.layer) for p in layer.parameters()]
        self.requires_grad_(False).norms.train()
        for param in moving:
            param.requires_grad_()
        try:
            torch.autograd.grad(self(torch.zeros(2, 3, 8, 8, dtype=torch.float64)).sum(), moving, allow_unused=True)
        except RuntimeError:
            return False
        finally:
            self.requires_grad_().eval()
        return True
