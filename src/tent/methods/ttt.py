"""TTT: test-time training with self-supervision (Sun et al., ICML 2020)."""

import inspect
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tent import norm
from tent.augment import TURNS, random_flip, random_rotation, random_shift
from tent.engine.structures import Inputs, list_tensors, map_tensors
from tent.method import ForwardPass, Method, State, require_whole
from tent.select import everything


def shared(model: nn.Module) -> list[str]:
    """Select every parameter of the modules that a model with a rotation head names in its `shared`."""
    parts = getattr(model, "shared", ())
    parts = tuple(f"{part}." for part in parts) if isinstance(parts, tuple | list) else ()
    names = [name for name in everything(model) if name.startswith(parts)]
    if not names:
        raise ValueError(_explain_missing_head(model))
    return names


@dataclass(frozen=True, repr=False)
class TTT(Method):
    """Train the shared part on telling how far test images are turned, then answer.

    The model is any whose forward takes `head="rotation"`, to answer in its usual form with logits of the four quarter
    turns, and whose `shared` names the modules that both answers go through.
    """

    copies: int = 1  # of each image; 32 in the paper, of a batch that is one image
    shift: int | None = None  # pixels at most; None: 4 of copies, which would be alike, 0 of a batch, which is not
    mirror: bool = False  # at random; not for digits
    seed: int = 0

    select = staticmethod(shared)
    stats = norm.Batch()
    optimizer = partial(torch.optim.SGD, lr=1e-3)  # the paper's
    answers = "after"
    uses_pass = False  # it learns from turned images alone
    needs = frozenset({"rotation head"})

    def __post_init__(self) -> None:
        require_whole(self, "copies")
        require_whole(self, "seed", *() if self.shift is None else ("shift",), least=0)

    def start(self, state: State) -> None:
        """Refuse a model without a rotation head."""
        takes = inspect.signature(state.model.forward).parameters.values()
        if not any(parameter.name == "head" or parameter.kind is parameter.VAR_KEYWORD for parameter in takes):
            raise ValueError(_explain_missing_head(state.model))

    def loss(self, seen: ForwardPass, state: State) -> Tensor | None:
        """Return the mean cross-entropy of the rotation head to the turns that were drawn."""
        images, turns = self.draw(_images(seen.inputs), state.generator(self.seed))
        args, kwargs = map_tensors(seen.inputs, lambda _: images)
        logits = state.forward(*args, **{**kwargs, "head": "rotation"}).logits  # (n, 4)
        if logits.shape != (len(images), TURNS):
            raise ValueError(f"the rotation head answers in shape {tuple(logits.shape)}, not {(len(images), TURNS)}")
        return F.cross_entropy(logits.to(torch.promote_types(logits.dtype, torch.float32)), turns)

    def draw(self, images: Tensor, random: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return copies of the images, each turned at random, and their numbers of quarter turns."""
        images = images.repeat_interleave(self.copies, 0)
        most = self.shift if self.shift is not None else 4 if self.copies > 1 else 0
        images = random_shift(images, most, random) if most else images
        return random_rotation(random_flip(images, random) if self.mirror else images, random)


def _images(inputs: Inputs) -> Tensor:
    found = list_tensors(inputs)
    if len(found) != 1 or found[0].dim() != 4 or found[0].shape[2] != found[0].shape[3]:
        shapes = " and ".join(str(tuple(tensor.shape)) for tensor in found) or "no tensor"
        raise ValueError(f"TTT turns square images, (n, c, h, h), and was given {shapes}; crop or pad them to squares")
    return found[0]


def _explain_missing_head(model: nn.Module) -> str:
    return (
        f"{type(model).__name__} has no rotation head for TTT to train on (a forward that takes head='rotation', and "
        "`shared`, the names of the modules before it); train one: tent train --method ttt --source cifar10 --model r26"
    )
