"""Tent written plainly, with all that may be done to an adaptation: a copied model, whose tensors are written to."""

import copy
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from toys import logits


@dataclass(frozen=True)
class Choices:
    """How an adaptation is made."""

    lr: float
    steps: int
    answers: str
    episodic: bool
    momentum: float | None  # of SGD; None: Adam
    batch_statistics: bool


class Twin:
    """What an adaptation of a model ought to do."""

    def __init__(self, model: nn.Module, choices: Choices) -> None:
        self.model, self.choices = copy.deepcopy(model).eval().requires_grad_(False), choices
        self.updates = self.skipped = 0
        self.params: dict[str, nn.Parameter] = {}
        for place, module in self.model.named_modules():
            if isinstance(module, nn.BatchNorm2d) and choices.batch_statistics:
                module.running_mean = module.running_var = None
            if "Norm" in type(module).__name__:
                own = module.named_parameters(recurse=False)
                self.params |= {f"{place}.{name}": param.requires_grad_() for name, param in own}
        self.source = self.state()
        self.load({})

    def state(self) -> dict[str, Tensor]:
        return {name: param.detach().clone() for name, param in self.params.items()}

    def load(self, state: dict[str, Tensor]) -> None:
        """Take parameters over, the source's where there are none; the optimizer starts anew."""
        with torch.no_grad():
            for name, param in self.params.items():
                param.copy_(state.get(name, self.source[name]))
        lr, momentum = self.choices.lr, self.choices.momentum
        params = self.params.values()
        self.optimizer = torch.optim.Adam(params, lr) if momentum is None else torch.optim.SGD(params, lr, momentum)

    def answer(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            return logits(self.model(x))

    def call(self, x: Tensor) -> Tensor:
        if self.choices.episodic:
            self.load({})
        if not x.isfinite().all():
            self.skipped += 1
            return self.answer(x)
        for _ in range(self.choices.steps):
            before = logits(self.model(x))
            loss = -(before.softmax(1) * before.log_softmax(1)).sum(1).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.updates += 1
        return before.detach() if self.choices.answers == "before" else self.answer(x)

    def fit(self, batches: Iterable[Tensor]) -> None:
        for x in batches:
            self.call(x)
