"""A memory of images that is balanced by predicted class and prefers recent and sure ones (RoTTA's)."""

import math
from collections import Counter
from typing import NamedTuple

import torch
from torch import Tensor

from tent.method import State


class Item(NamedTuple):
    """An image that is held: its row, its predicted class, how many images came before it, and how unsure it was."""

    row: int
    label: int
    born: int
    entropy: float


def remember(images: Tensor, probabilities: Tensor, entropies: Tensor, count: int, capacity: int, state: State) -> None:
    """Offer images one by one to the memory in the state's tensors.

    Args:
        count: how many images came before these.
    """
    tensors, (number, classes) = state.tensors, probabilities.shape
    if "images" in tensors and (own := tensors["images"].shape[1:]) != images.shape[1:]:
        raise ValueError(
            f"the memory holds images of shape {tuple(own)}, and was given {tuple(images.shape[1:])}; resize them to "
            "one size, or reset"
        )
    labels, born = probabilities.argmax(1), count + torch.arange(number)
    new = {"images": images, "labels": labels, "born": born.to(labels.device), "entropies": entropies}
    rows = {name: torch.cat([tensors[name], values]) if name in tensors else values for name, values in new.items()}
    values = zip(*(rows[name].tolist() for name in ("labels", "born", "entropies")), strict=True)
    items = [Item(row, *each) for row, each in enumerate(values)]
    held = items[: len(items) - number]
    for item in items[len(items) - number :]:
        held = admit(held, item, capacity, classes)
    chosen = torch.tensor([item.row for item in held], device=labels.device)
    tensors.update({name: values[chosen] for name, values in rows.items()})


def admit(held: list[Item], new: Item, capacity: int, classes: int) -> list[Item]:
    """Return what is held once a new image was offered: it takes the place of a worse one, if there must be one."""

    def score(item: Item) -> float:
        age = (new.born - item.born) / capacity
        return 1 / (1 + math.exp(-age)) + item.entropy / math.log(classes)

    sizes = Counter(item.label for item in held)
    if sizes[new.label] >= capacity / classes:
        rivals = [item for item in held if item.label == new.label]
    elif len(held) < capacity:
        return [*held, new]
    else:
        most = max(sizes.values())
        rivals = [item for item in held if sizes[item.label] == most]
    worst = max(rivals, key=lambda item: (score(item), item.label, item.row))
    return [*(item for item in held if item is not worst), new] if score(worst) > score(new) else held
