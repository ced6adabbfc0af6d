from collections.abc import Callable

import pytest
import timm
import torch
import torchvision
import transformers
from torch import nn
from toys import made

import tent
from tent.models import r26
from tent.select import (
    all_but,
    early_norm_affine,
    everything,
    feature_layers,
    is_norm,
    last_layer,
    norm_affine,
    nothing,
)


class LlamaRMSNorm(nn.Module):
    """A look-alike: known by its name alone."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))
        self.table = nn.Parameter(torch.ones(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


def test_norm_affine_finds_every_kind() -> None:
    names = norm_affine(made("mixed"))
    assert names == [f"{i}.{own}" for i in (1, 4, 7, 11) for own in ("weight", "bias")] + ["13.weight"]


def test_norm_affine_finds_look_alikes_and_only_their_vectors() -> None:
    net = nn.Sequential(LlamaRMSNorm(), nn.Linear(4, 3))
    assert norm_affine(net) == ["0.weight"]
    adapted = tent.adapt(net)
    adapted(torch.randn(5, 4))
    assert not torch.equal(next(adapted.parameters()), net[0].weight)


@pytest.mark.parametrize(
    ("name", "norm"),
    [
        *((name, True) for name in ("RmsNormFp32", "LayerNorm2dFp32", "MambaRMSNormGated", "BatchNormAct2d")),
        *((name, False) for name in ("NormalHead", "NormedLinear", "Conv2dNormActivation", "Gated")),
    ],
)
def test_norms_are_known_by_their_names(name: str, norm: bool) -> None:
    assert is_norm(type(name, (nn.Module,), {})()) is norm


def test_a_norm_layer_itself_is_a_model() -> None:
    assert norm_affine(nn.BatchNorm1d(3)) == ["weight", "bias"]


def test_last_layer_leaves_auxiliary_heads_aside() -> None:
    net = nn.Module()
    net.body, net.head, net.aux_head = nn.Linear(2, 2), nn.Conv2d(2, 2, 1), nn.Linear(2, 2)
    assert last_layer(net) == ["head.weight", "head.bias"]
    with pytest.raises(ValueError, match="no linear or convolutional"):
        last_layer(nn.ReLU())


def test_all_but_leaves_out_modules_by_name() -> None:
    net = made("residual")
    assert all_but("classifier")(net) == [name for name in everything(net) if not name.startswith("classifier")]
    assert all_but("bn1", "classifier.bias")(net)[-3:] == ["bn2.weight", "bn2.bias", "classifier.weight"]
    with pytest.raises(ValueError, match=r"'fc'; its parts are stem, bn1"):
        all_but("fc")(net)


def test_nothing_is_nothing() -> None:
    assert nothing(made("conv")) == []


def test_a_shared_parameter_moves_once_under_its_first_name() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 4), nn.LayerNorm(4))
    net[3].weight = net[1].weight
    adapted = tent.adapt(net)
    assert [name for name, _ in adapted.named_parameters()] == ["1.weight", "1.bias", "3.bias"]
    adapted(torch.randn(3, 4))


@pytest.mark.parametrize(
    ("names", "message"),
    [(["0.weight", "no.such"], "no parameter 'no.such'"), (["1.count"], "int64, which has no gradient")],
)
def test_a_wrong_choice_is_refused(names: list[str], message: str) -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4))
    net[1].count = nn.Parameter(torch.zeros(1, dtype=torch.int64), requires_grad=False)
    with pytest.raises(ValueError, match=message):
        tent.adapt(net, select=lambda model: names)


class TiedHead(nn.Module):
    """A model whose head is its embedding, as language models have it."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.norm, self.lm_head = nn.Embedding(7, 4), nn.LayerNorm(4), nn.Linear(4, 7, bias=False)
        self.lm_head.weight = self.embed.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.lm_head(self.norm(self.embed(tokens)).mean(1))


def test_a_head_that_shares_its_weight_with_the_embedding_is_found_and_adapted() -> None:
    net, tokens = TiedHead(), torch.arange(12).reshape(4, 3) % 7
    assert last_layer(net) == ["embed.weight"]
    tent.adapt(net)(tokens)
    adapted = tent.adapt(net, select=last_layer, lr=0.1)
    seen = adapted.state.forward(tokens)
    assert torch.equal(seen.features, net.norm(net.embed(tokens)).mean(1))
    adapted(tokens)
    assert not torch.equal(dict(adapted.named_parameters())["embed.weight"], net.embed.weight)


@pytest.mark.parametrize("name", ["batch-norm-two-heads", "group-norm-two-heads"])
def test_last_layer_is_the_one_that_classifies_not_the_rotation_head(name: str) -> None:
    assert last_layer(made(name)) == ["classifier.3.weight", "classifier.3.bias"]


def test_last_layer_of_the_house_s_own_two_headed_network() -> None:
    from tent.models.rotation import r26_rotation

    net = r26_rotation().eval()
    assert last_layer(net) == ["fc.weight", "fc.bias"]
    seen = tent.adapt(net, tent.BN()).state.forward(torch.randn(2, 3, 32, 32), grad=False)
    assert seen.features is not None
    assert seen.features.shape == (2, 64)


def transformers_resnet() -> nn.Module:
    config = transformers.ResNetConfig(embedding_size=4, hidden_sizes=[4, 4, 4, 4], depths=[1, 1, 1, 1])
    return transformers.ResNetForImageClassification(config)


def transformers_vit() -> nn.Module:
    config = transformers.ViTConfig(hidden_size=8, num_attention_heads=1, intermediate_size=8, image_size=16)
    return transformers.ViTForImageClassification(config)


EARLY: dict[
    str, tuple[Callable[[], nn.Module], str, str]
] = {  # the last norm that is selected, and the first that is not
    "r26": (r26, "stage2.3.norm2", "stage3.0.norm1"),
    "timm resnet": (lambda: timm.create_model("resnet18"), "layer3.1.bn2", "layer4.0.bn1"),
    "timm vit": (lambda: timm.create_model("vit_tiny_patch16_224", embed_dim=12), "blocks.8.norm2", "blocks.9.norm1"),
    "torchvision resnet": (torchvision.models.resnet18, "layer3.1.bn2", "layer4.0.bn1"),
    "torchvision vit": (
        lambda: torchvision.models.VisionTransformer(16, 8, 12, 1, 8, 8),
        "encoder.layers.encoder_layer_8.ln_2",
        "encoder.layers.encoder_layer_9.ln_1",
    ),
    "transformers resnet": (transformers_resnet, "resnet.encoder.stages.2", "resnet.encoder.stages.3"),
    "transformers vit": (transformers_vit, "8.layernorm_after", "9.layernorm_before"),
    "inside another": (lambda: nn.Sequential(nn.Identity(), r26()), "1.stage2.3.norm2", "1.stage3.0.norm1"),
}


@pytest.mark.parametrize("name", EARLY)
def test_early_norm_affine_leaves_out_the_last_stage_and_what_is_behind_it(name: str) -> None:
    make, last, first_out = EARLY[name]
    model = make()
    every, early = norm_affine(model), early_norm_affine(model)
    assert early == every[: len(early)]
    assert last in early[-1]
    assert first_out in every[len(early)]


def test_a_net_without_stages_has_none_to_leave_out() -> None:
    for name in ("conv", "mixed", "residual"):
        assert early_norm_affine(made(name)) == norm_affine(made(name))


def test_feature_layers_are_all_but_the_last_layer() -> None:
    model = r26()
    assert set(everything(model)) - set(feature_layers(model)) == set(last_layer(model)) == {"fc.weight", "fc.bias"}
