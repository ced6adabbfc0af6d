"""The training loop: every step is a function of the state before it and of its own number."""

from pathlib import Path
from time import monotonic
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tent.data import Images, Preprocess
from tent.train.batches import (
    DRAWS,
    HEADS,
    ORDER,
    TARGET_DRAWS,
    TARGET_ORDER,
    Passes,
    generator,
    random_colors,
    random_crop,
    random_flip,
    random_scale,
)
from tent.train.domains import read_pixels
from tent.train.objectives import Batch, Objective
from tent.train.recipe import SCHEDULES, Recipe
from tent.train.run_folder import save_checkpoint


class Watcher(Protocol):
    """Someone who is told how far a run is."""

    def __call__(self, run: "Training", loss: float, error: float) -> None:
        """Called after each step, with the mean loss and the error since the epoch began."""


class Training:
    """A model on its way: `advance` takes one step, `state` and `restore` carry it across a kill."""

    def __init__(
        self,
        model: nn.Module,
        data: Images,
        preprocess: Preprocess,
        recipe: Recipe,
        objective: Objective,
        device: torch.device,
        target: Images | None = None,
    ) -> None:
        self.device = device
        self.model = model.to(self.device, memory_format=torch.channels_last).train()  # type: ignore[call-overload]
        self.objective = start_objective(objective, self.model, recipe.seed).to(self.device).train()
        self.data, self.preprocess, self.recipe, self.target = data, preprocess, recipe, target
        self.optimizer = make_optimizer([self.model, self.objective], recipe)
        self.epoch_steps = max(1, len(data) // recipe.batch)
        self.steps = max(1, round(recipe.epochs * self.epoch_steps))
        self.step, self.seconds = 0, 0.0
        self.sums = torch.zeros(3, dtype=torch.float64)  # loss, mistakes and images of the epoch under way
        self.curve: list[dict[str, float]] = []  # loss and error of every epoch that is over
        self.order: tuple[int, Tensor] = (-1, torch.empty(0))
        self.target_order = Passes(0 if target is None else len(target), recipe.seed, TARGET_ORDER)

    def advance(self) -> None:
        """Take one step."""
        began, recipe = monotonic(), self.recipe
        if self.step % self.epoch_steps == 0:
            self.sums.zero_()
        batch = self.batch()
        with torch.autocast(self.device.type, torch.bfloat16, enabled=recipe.precision == "bfloat16"):
            loss, logits = self.objective(self.model, batch)
        if not loss.isfinite():
            raise ValueError(f"the loss is {loss.item()} at step {self.step}; train with a lower lr than {recipe.lr}")
        loss.backward()
        rate = recipe.lr * SCHEDULES[recipe.schedule](self.step, self.steps, recipe.rise, recipe.hold)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad()
        n, mistakes = len(batch.labels), self.objective.count_mistakes(logits.detach(), batch.labels)
        self.sums += torch.tensor([loss.item() * n, mistakes, n], dtype=torch.float64)
        self.step += 1
        self.seconds += monotonic() - began
        if self.step % self.epoch_steps == 0:
            self.curve.append(self.epoch())

    def epoch(self) -> dict[str, float]:
        """Return the number, loss and error of the epoch under way, or of the one that just ended."""
        loss, mistakes, n = self.sums.tolist()
        number = (self.step - 1) // self.epoch_steps + 1
        return {"epoch": number, "loss": round(loss / n, 5), "error": round(mistakes / n, 5)}

    def batch(self) -> Batch:
        """Return what the step under way sees; which images and which draws depends on the seed and the step alone."""
        indices = self.indices()
        random = generator(self.recipe.seed, DRAWS, self.step)
        inputs = self.inputs(self.data, indices, random)
        labels = torch.from_numpy(self.data.targets(indices)).to(self.device)
        torch.manual_seed(int(torch.randint(2**62, (), generator=random)))  # dropout, where a model has it
        return Batch(inputs, labels, self.step / self.steps, random, self.target_inputs(len(indices)))

    def indices(self) -> NDArray[np.int64]:
        """Return the places of the images that the step under way learns from."""
        epoch, place = divmod(self.step, self.epoch_steps)
        if self.order[0] != epoch:
            self.order = epoch, torch.randperm(len(self.data), generator=generator(self.recipe.seed, ORDER, epoch))
        return self.order[1][place * self.recipe.batch : (place + 1) * self.recipe.batch].numpy()

    def target_inputs(self, n: int) -> Tensor | None:
        """Return so many images of the target, if there is one, from draws that leave those of the source alone."""
        if self.target is None:
            return None
        indices = self.target_order.between(self.step * n, (self.step + 1) * n).numpy()
        return self.inputs(self.target, indices, generator(self.recipe.seed, TARGET_DRAWS, self.step))

    def inputs(self, data: Images, indices: NDArray[np.int64], random: torch.Generator) -> Tensor:
        """Return images as the network sees them in training: scaled, cropped, flipped, coloured and normalised."""
        images = torch.from_numpy(read_pixels(data, indices))
        if self.recipe.scales:
            images = random_scale(images, *self.recipe.scales, random)
        if self.recipe.crop:
            images = random_crop(images, self.recipe.crop, random)
        if self.recipe.flip:
            images = random_flip(images, random)
        if self.recipe.colors:
            images = random_colors(images, random)
        return self.preprocess(images.numpy()).to(self.device, memory_format=torch.channels_last)

    @property
    def images_seen(self) -> int:
        """Images that go forward, and backward, through the network in the whole run; four quarters are one image."""
        return round(self.steps * min(self.recipe.batch, len(self.data)) * self.objective.cost)

    def state(self) -> dict[str, Any]:
        """Return all that the next step depends on."""
        return {
            "model": self.model.state_dict(),
            "objective": self.objective.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "seconds": self.seconds,
            "sums": self.sums,
            "curve": self.curve,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from where a run was."""
        self.model.load_state_dict(state["model"])
        self.objective.load_state_dict(state["objective"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.seconds, self.sums = state["step"], state["seconds"], state["sums"]
        self.curve = list(state.get("curve", []))  # checkpoints of 0.1.0 have none


def run(training: Training, folder: Path, head: dict[str, Any], watch: Watcher, every: float = 60.0) -> None:
    """Train to the end, saving the state each epoch and each `every` seconds; `head` says which run it is."""
    saved = monotonic()
    with torch.random.fork_rng(), torch.backends.cudnn.flags(enabled=True, deterministic=True, benchmark=False):
        while training.step < training.steps:
            training.advance()
            loss, mistakes, n = training.sums.tolist()
            watch(training, loss / n, mistakes / n)
            if training.step % training.epoch_steps == 0 or monotonic() - saved >= every:
                save_checkpoint({**head, "state": training.state()}, folder)
                saved = monotonic()


def make_optimizer(modules: list[nn.Module], recipe: Recipe) -> torch.optim.Optimizer:
    """SGD with Nesterov momentum, or AdamW; weight decay on matrices and kernels only."""
    parameters = [p for module in modules for p in module.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": recipe.weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    if recipe.optimizer == "adamw":
        return torch.optim.AdamW(groups, lr=recipe.lr, betas=(recipe.momentum, 0.999), fused=True)
    return torch.optim.SGD(groups, lr=recipe.lr, momentum=recipe.momentum, nesterov=recipe.momentum > 0, fused=True)


def start_objective(objective: Objective, model: nn.Module, seed: int) -> Objective:
    """Return an objective with heads that fit a model and depend on the seed alone."""
    with torch.random.fork_rng():
        torch.manual_seed(int(torch.randint(2**62, (), generator=generator(seed, HEADS))))
        objective.start(model)
    return objective
