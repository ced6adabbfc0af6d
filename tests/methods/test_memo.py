"""MEMO against its equations written out: one image, its views, one step, the answer after it."""

import copy

import pytest
import torch
from plain_models import VIEWED, close, draws, images, normalise, view
from torch import Tensor, nn
from toys import made

import tent
from tent.augment import augmix


class Blended(nn.Module):
    """A batch norm by 16 parts of the source's statistics and one of the batch's."""

    def __init__(self, layer: nn.BatchNorm2d) -> None:
        super().__init__()
        self.weight, self.bias, self.eps = layer.weight, layer.bias, layer.eps
        self.mean, self.var = layer.running_mean, layer.running_var

    def forward(self, x: Tensor) -> Tensor:
        mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), unbiased=False)
        mean, var = (16 * self.mean + mean) / 17, (16 * self.var + var) / 17
        scaled = (x - mean.view(1, -1, 1, 1)) / (var + self.eps).sqrt().view(1, -1, 1, 1)
        return scaled * self.weight.view(1, -1, 1, 1) + self.bias.view(1, -1, 1, 1)


def blended(model: nn.Module) -> nn.Module:
    model = copy.deepcopy(model).requires_grad_(True)
    for i, layer in enumerate(model) if isinstance(model, nn.Sequential) else ():
        if isinstance(layer, nn.BatchNorm2d):
            model[i] = Blended(layer)
    return model


@pytest.mark.parametrize("net", ["conv", "group-norm-two-heads"])
def test_it_is_the_algorithm_written_out(net: str) -> None:
    model = made(net).double()
    adapted = tent.adapt(model, tent.MEMO(views=6, pixels=VIEWED), episodic=True, lr=0.05)
    for x in (normalise(x) for x in images(3, size=1)):
        plain = blended(model)
        views = view(x, lambda pixels: augmix(pixels.repeat(6, 1, 1, 1), draws("views 0", 0)))
        mean = plain(views).softmax(1).mean(0)
        (-(mean * mean.log()).sum()).backward()
        with torch.no_grad():
            for param in plain.parameters():
                param -= 0.05 * (param.grad if param.grad is not None else 0)
            expected = plain(x)
        assert close(adapted(x), expected)
        assert not torch.allclose(expected, blended(model)(x), atol=1e-4)


def test_images_of_a_larger_batch_share_one_update_of_their_mean_entropy() -> None:
    adapted = tent.adapt(made("group-norm-two-heads").double(), tent.MEMO(views=4))
    x, random = images(1, size=3)[0], draws("views 0", 0)
    logits = adapted.source(augmix(torch.cat([image.repeat(4, 1, 1, 1) for image in x.split(1)]), random))
    mean = logits.softmax(1).view(3, 4, -1).mean(1)
    adapted(x)
    assert adapted.state.loss == pytest.approx(-(mean * mean.log()).sum(1).mean().item())


def test_its_own_choices() -> None:
    adapted = tent.adapt(made("conv"), tent.MEMO(), episodic=True)
    assert (adapted.answers, adapted.stats, adapted.method.views) == ("after", tent.norm.Blend(1 / 17), 32)
    assert adapted.state.size == sum(p.numel() for p in made("conv").parameters())
    group = adapted.state.optimizer.param_groups[0]
    assert (type(adapted.state.optimizer), group["lr"], group["momentum"]) == (torch.optim.SGD, 0.005, 0)
    chosen = tent.MEMO.for_imagenet(views=8)
    assert (chosen.views, chosen.resize, tent.MEMO.for_imagenet().views) == (8, True, 64)
    assert tent.adapt(made("conv"), chosen, episodic=True)(images(1, 1)[0].float()).shape == (1, 5)
