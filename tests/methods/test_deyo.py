"""DeYO against its equations, written out, and the shuffling of patches."""

import math
from functools import partial

import pytest
import torch
from equations import Plain, compare, entropies, lively, stream
from torch import Tensor, nn
from toys import batches, made

import tent
from tent.augment import shuffle_patches


class PlainDeYO(Plain):
    """Lee et al. 2024, equations 7 to 10; the shuffled images are handed in."""

    def __init__(self, model: nn.Module, draws: list[torch.Generator], margin: float, threshold: float) -> None:
        super().__init__(model, partial(torch.optim.Adam, lr=1e-3))
        self.draws, self.margin, self.threshold = draws, margin * math.log(5), threshold
        self.kept: list[tuple[int, int]] = []

    def step(self, x: Tensor) -> Tensor:
        z = self(x)
        h, draw = entropies(z), self.draws.pop(0)
        sure = [i for i, value in enumerate(h.tolist()) if value < self.margin]
        terms = []
        if sure:
            with torch.no_grad():
                after = self(shuffled(x[sure], draw)).softmax(1)
            for row, i in enumerate(sure):
                label = int(z[i].argmax())
                plpd = z[i].softmax(0)[label].detach() - after[row, label]
                if plpd > self.threshold:
                    weight = math.exp(0.4 * math.log(5) - h[i].detach()) + math.exp(plpd)
                    terms.append(weight * h[i])
        self.kept.append((len(sure), len(terms)))
        if terms:
            self.descend(torch.stack(terms).mean())
        return z.detach()


def shuffled(images: Tensor, draw: torch.Generator, parts: int = 4) -> Tensor:
    """Image by image, patch by patch."""
    out, side = images.clone(), images.shape[2] // parts
    orders = torch.rand(len(images), parts**2, generator=draw).argsort(1)
    for image, new, order in zip(images, out, orders.tolist(), strict=True):
        for place, patch in enumerate(order):
            (i, j), (a, b) = divmod(place, parts), divmod(patch, parts)
            piece = image[:, a * side : (a + 1) * side, b * side : (b + 1) * side]
            new[:, i * side : (i + 1) * side, j * side : (j + 1) * side] = piece
    return out


@pytest.mark.parametrize("net", ["conv", "named", "group-norm-two-heads"])
def test_deyo_is_its_equations(net: str) -> None:
    model, options = lively(net), {"margin": 0.6, "threshold": 0.1}
    adapted = tent.adapt(model, tent.DeYO(**options))
    other = tent.adapt(model).state
    draws = []
    for step in range(4):
        other.step = step
        draws.append(other.generator("patches"))
    plain = PlainDeYO(model, draws, **options)
    compare(adapted, plain, stream())
    assert any(0 < kept < sure < 12 for sure, kept in plain.kept)  # both filters drop some


def test_nothing_certain_or_nothing_that_rests_on_shape_is_no_update() -> None:
    for options, forwards in (({"margin": 0.1}, 6), ({"margin": 1.1, "threshold": 1.0}, 12)):
        adapted = tent.adapt(made("conv"), tent.DeYO(**options))
        adapted(batches(1)[0])
        assert (adapted.updates, adapted.state.counts.backwards) == (0, 0)
        assert adapted.state.counts.forwards == forwards


def test_patches_are_shuffled_and_nothing_is_lost() -> None:
    images = torch.arange(2 * 3 * 8 * 8.0).reshape(2, 3, 8, 8)
    out = shuffle_patches(images, 4, torch.Generator().manual_seed(1))
    assert torch.equal(out, shuffled(images, torch.Generator().manual_seed(1)))
    assert torch.equal(out.flatten(2).sort(2).values, images.flatten(2))
    assert not torch.equal(out, images)
    assert not torch.equal(out[0] - images[0, 0, 0, 0], out[1] - images[1, 0, 0, 0])  # each in an order of its own


def test_sides_that_the_parts_do_not_divide_are_scaled() -> None:
    flat = torch.full((2, 3, 10, 7), 0.25)
    assert torch.allclose(shuffle_patches(flat, 4, torch.Generator()), flat)
    assert shuffle_patches(flat[:0], 4, torch.Generator()).shape == (0, 3, 10, 7)
    with pytest.raises(ValueError, match="images of 3x7 pixels cannot be cut into 4x4 patches"):
        shuffle_patches(flat[:, :, :3], 4, torch.Generator())


def test_what_is_no_image_or_has_no_label_is_refused() -> None:
    with pytest.raises(ValueError, match=r"one label an image, and was given logits of \(6, 5, 8, 8\)") as caught:
        tent.adapt(made("residual"), tent.DeYO())(batches(1)[0])
    assert "\n" not in str(caught.value)
    rows = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 5))
    with pytest.raises(ValueError, match=r"patches of images, \(n, c, h, w\), and was given \(6, 4\)"):
        tent.adapt(rows, tent.DeYO(margin=1.1))(torch.randn(6, 4))


def test_the_settings_of_the_paper() -> None:
    assert repr(tent.DeYO()) == "DeYO(margin=0.5, threshold=0.2, reference=0.4, parts=4)"
    assert [tent.DeYO.for_imagenet(wild=wild).threshold for wild in (False, True)] == [0.3, 0.2]
