"""Where a training begins: at random weights that depend on its seed, at an earlier training's, or a library's own."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tent.data import Images
from tent.engine.source_model import fingerprint
from tent.models import RotationResNet, find_network, is_library_network, zoo
from tent.models.architectures.new_classifier import load_library_network
from tent.models.weight_files import load_weights, read_weights
from tent.select import last_layer
from tent.train.recipe import Recipe
from tent.train.run_folder import find_card

RANDOM = "random"  # how a library's network is told to leave its own weights


@dataclass(frozen=True)
class Start:
    """Weights to begin from."""

    name: str
    path: Path | None  # None: they came with a library
    sha256: str
    own: dict[str, Tensor] = field(default_factory=dict, repr=False, compare=False)  # a library's

    @classmethod
    def find(cls, given: str | Path | None, network: str = "") -> "Start | None":
        """Find a file of weights, those of a shipped model by its name, or, if none is given, a library's own."""
        if given is None and is_library_network(network):
            model = load_library_network(network, pretrained=True).model
            return cls(network, None, fingerprint(model), model.state_dict())
        if given is None or str(given) == RANDOM:
            return None
        path, shipped = Path(given), str(given) in zoo.SHIPPED
        if shipped and not path.exists():
            path = zoo.WEIGHTS / f"{given}.safetensors"
        if not path.is_file():
            raise FileNotFoundError(f"{given}: no such file of weights; name one, or {', '.join(zoo.SHIPPED)}")
        return cls(str(given) if shipped else path.name, path, hashlib.sha256(path.read_bytes()).hexdigest())

    @property
    def recipe_word(self) -> str:
        """What a recipe calls it: the hash alone, or the hash after a library's name."""
        return self.sha256 if self.path else f"{self.name} {self.sha256}"

    def read(self) -> dict[str, Tensor]:
        """Return the weights."""
        return read_weights(self.path) if self.path else self.own

    @property
    def words(self) -> str:
        """What a card calls it."""
        return f"{self.name}, sha256 {self.sha256[:12]}"

    @property
    def card(self) -> dict[str, Any] | None:
        """The card of the earlier training, where it is there."""
        return find_card(self.path) if self.path else None


def build_network(recipe: Recipe, data: Images, start: Start | None) -> nn.Module:
    """Return the network of a recipe at its start: drawn from the seed, or with the weights it starts from."""
    if data.classes is None:
        raise ValueError(f"{data.name} does not say how many classes it has; name a set that does")
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed)
        model = find_network(recipe.model)(classes=data.classes)
    what, library = f"{recipe.model} for {data.classes} classes", is_library_network(recipe.model)
    if start and start.path and not library and not isinstance(model, RotationResNet):
        load_weights(model, what, start.path)
    elif start is not None:
        try:
            _load(start.read(), model, renewed=library)
        except RuntimeError as error:
            raise ValueError(f"{start.path or start.name}: not weights of {what} ({error})") from error
    return model


def _load(state: dict[str, Tensor], model: nn.Module, renewed: bool) -> None:
    """Load weights of a network with another last layer, or without a branch that the model has."""
    if renewed:
        model.load_state_dict({**state, **_new_layer(state, model)})
        return
    branch = {name: tensor for name, tensor in model.state_dict().items() if name.startswith("rotation.")}
    if not isinstance(model, RotationResNet) or branch.keys() & state.keys():
        model.load_state_dict(state)
        return
    model.load_state_dict({**branch, **state})  # weights of the network without its branch
    model.start_branch()


def _new_layer(state: dict[str, Tensor], model: nn.Module) -> dict[str, Tensor]:
    """Return the weights of a model's last layer where others are not of its shape: those for other classes."""
    own = model.state_dict()
    new = {name: own[name] for name in last_layer(model)}
    fits = all(name in state and state[name].shape == tensor.shape for name, tensor in new.items())
    return {} if fits else new
