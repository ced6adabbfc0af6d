"""Where a training begins: at random weights that depend on its seed, or at those of an earlier training."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from tent.data import Images
from tent.models import RotationResNet, find_network, zoo
from tent.train.recipe import Recipe
from tent.train.run_folder import find_card


@dataclass(frozen=True)
class Start:
    """Weights to begin from."""

    name: str
    path: Path
    sha256: str

    @classmethod
    def find(cls, given: str | Path) -> "Start":
        """Find a file of weights, or those of a shipped model by its name."""
        path, shipped = Path(given), str(given) in zoo.SHIPPED
        if shipped and not path.exists():
            path = zoo.WEIGHTS / f"{given}.safetensors"
        if not path.is_file():
            raise FileNotFoundError(f"{given}: no such file of weights; name one, or {', '.join(zoo.SHIPPED)}")
        return cls(str(given) if shipped else path.name, path, hashlib.sha256(path.read_bytes()).hexdigest())

    @property
    def words(self) -> str:
        """What a card calls it."""
        return f"{self.name}, sha256 {self.sha256[:12]}"

    @property
    def card(self) -> dict[str, Any] | None:
        """The card of the earlier training, where it is there."""
        return find_card(self.path)


def build_network(recipe: Recipe, data: Images, start: Start | None) -> nn.Module:
    """Return the network of a recipe at its start: drawn from the seed, or with the weights it starts from."""
    if data.classes is None:
        raise ValueError(f"{data.name} does not say how many classes it has; name a set that does")
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed)
        model = find_network(recipe.model)(classes=data.classes)
    if start is not None:
        try:
            _load(load_file(start.path), model)
        except (RuntimeError, SafetensorError) as error:
            what = f"{recipe.model} for {data.classes} classes"
            raise ValueError(f"{start.path}: not weights of {what} ({error})") from error
    return model


def _load(state: dict[str, Tensor], model: nn.Module) -> None:
    branch = {name: tensor for name, tensor in model.state_dict().items() if name.startswith("rotation.")}
    if not isinstance(model, RotationResNet) or branch.keys() & state.keys():
        model.load_state_dict(state)
        return
    model.load_state_dict({**branch, **state})  # weights of the network without its branch
    model.start_branch()
