"""RoTTA: robust test-time adaptation in dynamic scenarios (Yuan et al., CVPR 2023)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from tent import norm
from tent.augment import Pixels, change_images, check_images, random_view, require_one_prediction
from tent.engine.mode import Moments
from tent.engine.state import NotFiniteError
from tent.engine.structures import map_tensors
from tent.losses import cross_entropy
from tent.method import ForwardPass, Method, State, require_whole, require_within
from tent.methods.continual.balanced_memory import remember
from tent.methods.continual.teacher import follow, start_teacher, teacher
from tent.select import norm_affine


@dataclass(frozen=True, repr=False)
class RoTTA(Method):
    """Learn from a memory of recent, sure images of all classes, by a slow average of oneself, which answers.

    The statistics are a running average too, of the memory alone: student and teacher have their own.
    """

    capacity: int = 64  # images in the memory
    every: int = 64  # images between two updates
    momentum: float = 0.05  # of the running statistics
    nu: float = 0.001  # how far the teacher follows
    pixels: Pixels | None = None  # how inputs were normalised; None: they are in [0, 1]
    seed: int = 0

    select = staticmethod(norm_affine)
    stats = norm.Source()  # an answer is normalised by the teacher's running statistics, in the source's place
    needs = frozenset({"augmented views", "memory of images"})
    uses_pass = False  # the teacher looks at the batch, and the student at the memory

    def __post_init__(self) -> None:
        require_whole(self, "capacity", "every")
        require_within(self, 0, 1, "momentum", "nu")

    def start(self, state: State) -> None:
        """Begin the teacher at the source, with an empty memory."""
        start_teacher(state)
        state.tensors["count"] = torch.zeros((), dtype=torch.long)

    def answer(self, seen: ForwardPass, state: State) -> Any:
        """Return the teacher's answer, of before the batch."""
        return self._teach(seen, state).output

    def step(self, seen: ForwardPass, state: State) -> None:
        """Put the images into the memory one by one, and update whenever enough have come."""
        images, logits = check_images(seen.inputs, self.pixels, "RoTTA"), self._teach(seen, state).logits
        require_one_prediction(logits, "RoTTA")
        p = logits.to(torch.promote_types(logits.dtype, torch.float32)).softmax(1)
        entropies = -(p * (p + 1e-6).log()).sum(1)
        if not entropies.isfinite().all():
            raise NotFiniteError("its predictions are not finite")
        before = int(state.tensors["count"])
        for part in self._parts(len(images), before):
            now = before + part.stop
            remember(images[part], p[part], entropies[part], before + part.start, self.capacity, state)
            if now % self.every == 0:
                self._update(now, seen, state)
        state.tensors["count"] = torch.tensor(before + len(images))

    def _parts(self, number: int, before: int) -> Iterator[slice]:
        # an update comes after every so many images, also amid a batch
        begin = 0
        while begin < number:
            end = min(number, begin + self.every - (before + begin) % self.every)
            yield slice(begin, end)
            begin = end

    def _update(self, now: int, seen: ForwardPass, state: State) -> None:
        running, memory = norm.Running(self.momentum), state.tensors["images"]
        args, kwargs = inputs = map_tensors(seen.inputs, lambda _: memory)
        taught = state.forward(
            *args, **kwargs, params=teacher(state), stats=running, moments=_moments("teacher", state), grad=False
        )
        random = state.generator(f"views {self.seed} {now}")
        args, kwargs = change_images(inputs, lambda x: random_view(x, random), self.pixels, "RoTTA")
        student = state.forward(*args, **kwargs, stats=running, moments=_moments("student", state))
        loss = cross_entropy(student.logits, taught.logits)
        ages = (now - state.tensors["born"]).to(loss) / self.capacity
        state.update((loss * torch.sigmoid(-ages)).mean())
        for who, run in (("teacher", taught), ("student", student)):
            for layer, moments in run.moments.items():
                state.tensors[f"{who} mean {layer}"], state.tensors[f"{who} var {layer}"] = moments.mean, moments.var
        follow(state, self.nu)

    def _teach(self, seen: ForwardPass, state: State) -> ForwardPass:
        if "teacher" not in seen.notes:
            args, kwargs = seen.inputs
            seen.notes["teacher"] = state.forward(
                *args, **kwargs, params=teacher(state), moments=_moments("teacher", state), grad=False
            )
        return seen.notes["teacher"]  # type: ignore[no-any-return]


def _moments(who: str, state: State) -> dict[str, Moments]:
    layers = [layer for layer in state.setup.source.norms if f"{who} mean {layer}" in state.tensors]
    return {
        layer: Moments(state.tensors[f"{who} mean {layer}"], state.tensors[f"{who} var {layer}"], 0) for layer in layers
    }
