"""What the papers' equations are written out with: a plain copy of a model in float64, and torch alone."""

import copy
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from toys import batches, logits, made

import tent

WITHIN = 1e-9
NORMS = (nn.BatchNorm2d, nn.GroupNorm, nn.LayerNorm, nn.InstanceNorm2d, nn.RMSNorm)


def lively(name: str, spread: float = 2.0, batch_norms: bool = True) -> nn.Module:
    """Return a toy net in float64 whose predictions differ in certainty and class, by batch or source statistics."""
    model = made(name).double()
    head = model.classifier if hasattr(model, "classifier") else model
    head = [module for module in head.modules() if isinstance(module, nn.Linear)][-1]
    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    for norm in norms:
        norm.train(batch_norms)
    with torch.no_grad():
        z = logits(model(torch.cat(stream(8))))  # (n, classes)
        head.weight *= spread / z.std(0)[:, None]
        head.bias.copy_((head.bias - z.mean(0)) * spread / z.std(0))
    for norm in norms:
        norm.eval()
    return model


def stream(count: int = 4, size: int = 12) -> list[Tensor]:
    return [x.double() for x in batches(count, size)]


def entropies(z: Tensor) -> Tensor:
    p = torch.exp(z) / torch.exp(z).sum(1, keepdim=True)
    return -(p * torch.log(p)).sum(1)


class Plain:
    """A copy of a model whose batch norms use the batch, with an optimizer over the γ and β of its norms."""

    def __init__(self, model: nn.Module, make: Callable[[Iterable[Tensor]], torch.optim.Optimizer]) -> None:
        self.model, self.make = copy.deepcopy(model).eval().requires_grad_(False), make
        self.params: dict[str, Tensor] = {}
        for name, module in self.model.named_modules():
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean = module.running_var = None
                module.track_running_stats = False
            if isinstance(module, NORMS):
                own = module.named_parameters(recurse=False)
                self.params.update({f"{name}.{kind}": parameter.requires_grad_() for kind, parameter in own})
        self.source = {name: param.detach().clone() for name, param in self.params.items()}
        self.reset()

    def reset(self) -> None:
        with torch.no_grad():
            for name, param in self.params.items():
                param.copy_(self.source[name])
        self.optimizer = self.make(self.params.values())

    def __call__(self, x: Tensor) -> Tensor:
        return logits(self.model(x))

    def descend(self, loss: Tensor) -> None:
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


def compare(adapted: tent.Adapted, plain: Any, batches: Iterable[Tensor]) -> None:
    """Run both on a stream, and hold every answer and every parameter of the one against the other's."""
    for x in batches:
        ours, theirs = logits(adapted(x)), plain.step(x)
        assert torch.allclose(ours, theirs, rtol=0, atol=WITHIN)
        for name, param in adapted.named_parameters():
            assert torch.allclose(param, plain.params[name], rtol=0, atol=WITHIN), name
    moved = any(not torch.equal(param, plain.source[name]) for name, param in adapted.named_parameters())
    assert moved == bool(adapted.state.params)
