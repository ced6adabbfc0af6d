"""The paper's algorithm, plainly: what the engine is compared with."""

import copy

import torch
from torch import Tensor, nn


class PlainTent:
    """A copied model in train mode without running statistics, and Adam on the batch norms' γ and β."""

    def __init__(self, model: nn.Module, lr: float = 1e-3) -> None:
        self.model = copy.deepcopy(model).train().requires_grad_(False)
        self.params = []
        for module in self.model.modules():
            if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d | nn.BatchNorm3d):
                module.track_running_stats = False
                module.running_mean = module.running_var = None
                self.params += [module.weight.requires_grad_(), module.bias.requires_grad_()]
            elif isinstance(module, nn.Dropout):
                module.eval()
        self.lr = lr
        self.source = copy.deepcopy(self.model.state_dict())
        self.optimizer = torch.optim.Adam(self.params, lr=lr)

    def reset(self) -> None:
        self.model.load_state_dict(self.source)
        self.optimizer = torch.optim.Adam(self.params, lr=self.lr)

    def step(self, x: Tensor) -> Tensor:
        logits = self.model(x)
        loss = -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return logits.detach()

    def infer(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            return self.model(x)
