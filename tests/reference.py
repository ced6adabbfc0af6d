"""The papers' algorithms, plainly: what the engine is compared with."""

import copy

import numpy as np
import torch
from torch import Tensor, nn

import tent


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


class PlainTTT:
    """A copied model in train mode without running statistics, and SGD on its shared part, written out.

    Numbers are drawn in the method's own order, and looked up image by image.
    """

    def __init__(self, model: nn.Module, method: tent.TTT, lr: float, momentum: float = 0.0, steps: int = 1) -> None:
        self.model = copy.deepcopy(model).train().requires_grad_(False)
        for module in self.model.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.track_running_stats = False
                module.running_mean = module.running_var = None
            elif not list(module.children()) and not list(module.parameters()):
                module.eval()  # dropout and its kin
        self.params = [p.requires_grad_() for part in model.shared for p in getattr(self.model, part).parameters()]
        self.optimizer = torch.optim.SGD(self.params, lr=lr, momentum=momentum)
        self.method, self.steps, self.count = method, steps, 0

    def step(self, x: Tensor, ranks: int = 1) -> Tensor:
        for _ in range(self.steps):
            parts = [self.task(part, rank) for rank, part in enumerate(x.chunk(ranks))]
            images, turns = (torch.cat(part) for part in zip(*parts, strict=True))
            self.count += 1
            loss = -self.model(images, head="rotation").log_softmax(1)[torch.arange(len(images)), turns].mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        with torch.no_grad():
            return self.model(x)

    def task(self, x: Tensor, rank: int) -> tuple[Tensor, Tensor]:
        seed = np.random.SeedSequence((self.method.seed, self.count, rank)).generate_state(1)[0]
        random = torch.Generator().manual_seed(int(seed))
        copies = [image for image in x for _ in range(self.method.copies)]
        size = x.shape[2]
        if self.method.copies > 1:
            down, right = torch.randint(-4, 5, (2, len(copies), 1), generator=random).squeeze(2).tolist()
            padded = nn.functional.pad(torch.stack(copies), (4, 4, 4, 4), mode="replicate")
            places = zip(padded, down, right, strict=True)
            copies = [image[:, 4 + i : 4 + i + size, 4 + j : 4 + j + size] for image, i, j in places]
        if self.method.mirror:
            chosen = torch.randint(2, (len(copies), 1, 1, 1), generator=random).flatten().tolist()
            copies = [image.flip(2) if flip else image for image, flip in zip(copies, chosen, strict=True)]
        turns = torch.randint(4, (len(copies),), generator=random)
        return torch.stack([image.rot90(int(turn), (1, 2)) for image, turn in zip(copies, turns, strict=True)]), turns
