"""A library's network for classes of one's own: its last layer is new, the rest is as the library has it."""

from torch import nn

from tent.models.entry import Entry
from tent.models.libraries import LIBRARIES
from tent.select import find_head


def is_library_network(name: str) -> bool:
    """Tell whether a name is that of a library's network, such as timm:resnet50."""
    kind, _, own = name.partition(":")
    return kind in LIBRARIES and bool(own)


def load_library_network(name: str, pretrained: bool) -> Entry:
    """Return a library's network as it is there."""
    kind, _, own = name.partition(":")
    return LIBRARIES[kind](own, pretrained)


def own_side(name: str) -> int | None:
    """Return the side of the images that a library's network was made for, where they are square."""
    preprocess = load_library_network(name, pretrained=False).preprocess
    side = preprocess.crop or preprocess.size
    return side[0] if isinstance(side, tuple) and len({*side}) == 1 else side if isinstance(side, int) else None


def build_classifier(name: str, classes: int) -> nn.Module:
    """Return a library's network at random weights, with a last layer for so many classes."""
    model = load_library_network(name, pretrained=False).model
    renew_last_layer(model, classes)
    return model


def renew_last_layer(model: nn.Module, classes: int) -> None:
    """Put a layer for so many classes, at random weights, in the place of the one that classifies."""
    place = find_head(model)
    old = None if place is None else model.get_submodule(place)
    new: nn.Module
    if isinstance(old, nn.Linear):
        new = nn.Linear(old.in_features, classes, bias=old.bias is not None)
    elif isinstance(old, nn.Conv2d) and old.kernel_size == (1, 1):
        new = nn.Conv2d(old.in_channels, classes, 1, bias=old.bias is not None)
    else:
        kind = type(model).__name__
        raise ValueError(f"{kind}: its last layer is {place or 'not found'}, which is no classifier to be replaced")
    parent, _, own = str(place).rpartition(".")
    setattr(model.get_submodule(parent), own, new)
