"""Methods of one's own, each of a kind that the library's are not: they show that the interface carries them."""

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

import tent
from tent import ForwardPass, State, norm, select


class Teacher(tent.Method):
    """A slow copy of what moves teaches the model, and answers in its place."""

    select = select.norm_affine
    stats = norm.Batch()

    def start(self, state: State) -> None:
        state.tensors.update({f"teacher {name}": param.clone() for name, param in state.params.items()})

    def teacher(self, state: State) -> Mapping[str, Tensor]:
        return {name: state.tensors[f"teacher {name}"] for name in state.params}

    def step(self, seen: ForwardPass, state: State) -> None:
        target = state.forward(*seen.inputs[0], params=self.teacher(state), grad=False).logits.softmax(1)
        state.update(F.cross_entropy(seen.logits, target) + tent.losses.entropy(seen.logits).mean())
        for name, param in state.params.items():
            old = state.tensors[f"teacher {name}"]
            state.tensors[f"teacher {name}"] = torch.lerp(old, param.detach(), 0.1)

    def answer(self, seen: ForwardPass, state: State) -> Any:
        return state.forward(*seen.inputs[0], params=self.teacher(state), grad=False).output


class Memory(tent.Method):
    """The last features are remembered, and answers lean on how alike a batch is to them; nothing moves."""

    stats = norm.Batch()

    def step(self, seen: ForwardPass, state: State) -> None:
        assert seen.features is not None
        assert not seen.features.requires_grad
        rows = seen.features.flatten(1).mean(1)
        state.tensors["rows"] = torch.cat([state.tensors.get("rows", rows[:0]), rows])[-10:]

    def answer(self, seen: ForwardPass, state: State) -> Any:
        if "rows" not in state.tensors:
            return seen.output
        return seen.with_logits(seen.logits * (1 + state.tensors["rows"].mean().tanh()))


class Sharpness(tent.Method):
    """Two passes: the gradient at the parameters, then that at perturbed ones, which is the one to follow."""

    select = select.norm_affine
    stats = norm.Batch()
    radius = 0.05

    def step(self, seen: ForwardPass, state: State) -> None:
        state.backward(tent.losses.entropy(seen.logits).mean())
        gradients = {name: param.grad for name, param in state.params.items() if param.grad is not None}
        length = torch.stack([gradient.norm() for gradient in gradients.values()]).norm() + 1e-12
        nearby = {name: state.params[name] + self.radius * g / length for name, g in gradients.items()}
        state.clear_gradients()
        again = state.forward(*seen.inputs[0], params=nearby)
        state.update(tent.losses.entropy(again.logits).mean())


class Temperature(tent.Method):
    """A parameter of its own, beside none of the model's: the temperature of its answers."""

    stats = norm.Batch()

    def start(self, state: State) -> None:
        state.params["temperature"] = torch.ones(())

    def loss(self, seen: ForwardPass, state: State) -> Tensor:
        return tent.losses.entropy(seen.logits / state.params["temperature"]).mean()

    def answer(self, seen: ForwardPass, state: State) -> Any:
        return seen.with_logits(seen.logits / state.params["temperature"])
