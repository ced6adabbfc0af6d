"""MDEQ, the multiscale deep equilibrium network of Bai, Koltun and Kolter (NeurIPS 2020), for small images."""

import copy
import warnings
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tent.models.architectures.equilibrium import Solver, equilibrium, jacobian_size, residual
from tent.models.architectures.mdeq_cell import GROUPS, Block, Cell, Maps

HEAD_EXPANSION = 4
TRAINING_SOLVERS = (Solver(tolerance=1e-2, steps=8), None)
JACOBIAN_SHARE = 4  # of so many images one's Jacobian is estimated, since the penalty takes second derivatives


class HeadBottleneck(nn.Module):
    """The head's bottleneck, which gives a resolution more channels."""

    def __init__(self, channels: int, middle: int) -> None:
        super().__init__()
        out, plain = HEAD_EXPANSION * middle, partial(nn.BatchNorm2d, affine=False)
        self.conv1, self.norm1 = nn.Conv2d(channels, middle, 1, bias=False), plain(middle)
        self.conv2, self.norm2 = nn.Conv2d(middle, middle, 3, 1, 1, bias=False), plain(middle)
        self.conv3, self.norm3 = nn.Conv2d(middle, out, 1, bias=False), plain(out)
        same = channels == out
        self.shortcut = nn.Identity() if same else nn.Sequential(conv1x1(channels, out), nn.BatchNorm2d(out))

    def forward(self, x: Tensor) -> Tensor:
        """Return four times `middle` channels."""
        y = F.relu(self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))))
        return F.relu(self.norm3(self.conv3(y)) + self.shortcut(x))


class MDEQ(nn.Module):
    """A stem, an equilibrium at several resolutions, a head that brings them together, one linear layer.

    Its gradient is there in train and in eval mode; dropout is drawn once a pass, and in train mode alone. Training
    takes some ten thousand steps, so it looks for its equilibria less closely, and has a cheaper gradient.
    `last_residual` is the largest residual of an image that the last search ended with, None before the first.
    `penalty` is what the last pass in train mode adds to the loss, so that equilibria stay easy to find; None in eval.

    Args:
        channels: of each resolution, each half as large as the one before.
        head: of each resolution's bottleneck; `last`: what the linear layer is given.
        forward_solver: for the equilibrium in eval mode; `backward_solver`: for its gradient.
        training_solvers: both in train mode; None for the backward one takes the gradient of the last step alone.
        jacobian_weight: of the penalty, the size of the cell's Jacobian at the equilibrium.
    """

    def __init__(
        self,
        channels: Sequence[int],
        head: Sequence[int],
        last: int,
        classes: int = 10,
        in_channels: int = 3,
        *,
        dropout: float = 0.0,
        forward_solver: Solver = Solver(),  # noqa: B008 (frozen)
        backward_solver: Solver = Solver(),  # noqa: B008 (frozen)
        training_solvers: tuple[Solver, Solver | None] = TRAINING_SOLVERS,
        jacobian_weight: float = 20.0,
    ) -> None:
        super().__init__()
        if bad := [own for own in channels if own < GROUPS or own % GROUPS]:
            raise ValueError(
                f"channels {bad[0]}: an MDEQ's resolutions have multiples of {GROUPS}; "
                "choose a width that is a multiple of 0.25"
            )
        first, wide = channels[0], [HEAD_EXPANSION * own for own in head]
        self.forward_solver, self.backward_solver = forward_solver, backward_solver
        self.training_solvers, self.jacobian_weight = training_solvers, jacobian_weight
        self.penalty: Tensor | None = None
        self.stem = nn.Sequential(
            *_conv_norm_relu(conv3x3(in_channels, first)), *_conv_norm_relu(conv3x3(first, first))
        )
        self.inject = nn.Sequential(*_conv_norm_relu(conv1x1(first, first))) if len(channels) > 2 else nn.Identity()
        self.cell = Cell(channels, dropout)
        self.increase = nn.ModuleList(HeadBottleneck(own, middle) for own, middle in zip(channels, head, strict=True))
        self.down = nn.ModuleList(nn.Sequential(*_conv_norm_relu(nn.Conv2d(a, b, 3, 2, 1))) for a, b in pairwise(wide))
        self.last = nn.Sequential(*_conv_norm_relu(nn.Conv2d(wide[-1], last, 1)))
        self.fc = nn.Linear(last, classes)
        self.channels = tuple(channels)
        self.last_residual: float | None = None
        self.warned = False

    def features(self, x: Tensor) -> Tensor:
        """What the linear layer sees of a batch."""  # (n, last)
        z = self.equilibrium(x)
        y = self.increase[0](z[0])
        for increase, down, own in zip(self.increase[1:], self.down, z[1:], strict=True):
            y = increase(own) + down(y)
        return self.last(y).mean((2, 3))  # type: ignore[no-any-return]

    def forward(self, x: Tensor) -> Tensor:
        """Logits of a batch of images."""  # (n, classes)
        return self.fc(self.features(x))  # type: ignore[no-any-return]

    def equilibrium(self, x: Tensor) -> Maps:
        """Return the equilibrium of a batch, a map a resolution."""
        step = Step(self, x)
        z = equilibrium(step, step.start, *self.solvers, self.keep_residual)
        self.penalty = None
        if self.training and self.jacobian_weight and torch.is_grad_enabled():
            some = -(-len(z) // JACOBIAN_SHARE)
            self.penalty = self.jacobian_weight * jacobian_size(step.first(some), z[:some])
        return step.split(z)

    @property
    def solvers(self) -> tuple[Solver, Solver | None]:
        """The forward and the backward solver of the mode that the model is in."""
        return self.training_solvers if self.training else (self.forward_solver, self.backward_solver)

    def keep_residual(self, seen: Tensor) -> None:
        """Keep the largest residual of a search, and warn of the first in eval mode that ends above the tolerance."""
        if not len(seen):
            return
        self.last_residual, solver = float(seen.max()), self.forward_solver
        if self.training or self.warned or self.last_residual <= solver.tolerance:
            return
        self.warned = True
        warnings.warn(
            f"the equilibrium of an image was not found: a residual of {self.last_residual:.1e} after {solver.steps} "
            f"steps, above the tolerance of {solver.tolerance:.0e}; answers and gradients are those of a state nearby. "
            "Give the model's forward_solver more steps, or train it further; last_residual tells of later batches",
            stacklevel=2,
        )

    def residual(self, x: Tensor) -> Tensor:
        """Return how far from an equilibrium the state of each image is that its answer comes from."""  # (n,)
        with torch.no_grad():
            step = Step(self, x)
            return residual(step, self.solvers[0].solve(step, step.start)[0])


class Step:
    """An MDEQ's cell as a function of one vector an image, on one batch; in float32 under autocast too."""

    def __init__(self, model: MDEQ, x: Tensor) -> None:
        height, width = x.shape[2:]
        times = 2 ** (len(model.channels) - 1)
        if height % times or width % times:
            raise ValueError(
                f"images of {height}x{width} do not halve {len(model.channels) - 1} times; "
                f"resize them to multiples of {times}, such as --size 32"
            )
        self.cell = model.cell
        self.shapes = [(own, height >> level, width >> level) for level, own in enumerate(model.channels)]
        self.sizes = [own * h * w for own, h, w in self.shapes]
        self.start = x.new_zeros(len(x), sum(self.sizes), dtype=torch.promote_types(x.dtype, torch.float32))
        self.injected = model.inject(model.stem(x)).to(self.start.dtype)
        blocks = (block for block in model.cell.blocks if isinstance(block, Block))
        self.masks = [block.mask(z) for block, z in zip(blocks, self.split(self.start), strict=True)]

    def first(self, n: int) -> "Step":
        """Return the same function of the first n images alone."""
        some = copy.copy(self)
        some.injected, some.masks = self.injected[:n], [None if mask is None else mask[:n] for mask in self.masks]
        return some

    def split(self, z: Tensor) -> Maps:
        """Return a vector an image as maps."""
        parts = torch.split(z, self.sizes, 1)
        return [part.reshape(len(z), *shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def __call__(self, z: Tensor) -> Tensor:
        """Return the next state."""
        # the steps of bfloat16 are coarser than the tolerance, so no search would reach it
        with torch.autocast(z.device.type, enabled=False):
            maps = self.cell(self.split(z), self.injected, self.masks)
        return torch.cat([own.flatten(1) for own in maps], 1).to(z.dtype)


def conv1x1(channels: int, out_channels: int) -> nn.Conv2d:
    """A convolution of single pixels."""
    return nn.Conv2d(channels, out_channels, 1, bias=False)


def conv3x3(channels: int, out_channels: int) -> nn.Conv2d:
    """A convolution that keeps the size."""
    return nn.Conv2d(channels, out_channels, 3, 1, 1, bias=False)


def _conv_norm_relu(conv: nn.Conv2d) -> tuple[nn.Module, ...]:
    return conv, nn.BatchNorm2d(conv.out_channels), nn.ReLU()


def mdeq(classes: int = 10, channels: int = 3, width: float = 1) -> MDEQ:
    """MDEQ of the size that the paper calls large for CIFAR: four resolutions."""
    own, head = [int(width * each) for each in (32, 64, 128, 256)], [round(width * each) for each in (14, 28, 56, 112)]
    dropout = 0.3 * min(1.0, width)  # a narrow one has less to spare
    return MDEQ(own, head, round(width * 1680), classes, channels, dropout=dropout)


def mdeq_tiny(classes: int = 10, channels: int = 3) -> MDEQ:
    """MDEQ of the size that the paper calls tiny: two resolutions."""
    return MDEQ((24, 24), (8, 16), 200, classes, channels, dropout=0.25)
