"""Real architectures, from config alone: each adapts, leaves the source untouched, and resets exactly."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
import timm
import torch
import torchvision
import transformers
from torch import Tensor, nn
from toys import Photograph

import tent
from tent.engine.structures import list_tensors

TIMM = {
    "resnet10t": 64,
    "resnetv2_50": 64,  # BatchNormAct2d
    "resnetv2_50x1_bit": 64,  # GroupNormAct
    "densenet121": 64,
    "efficientnet_b0": 64,
    "mobilenetv3_small_050": 64,
    "hrnet_w18_small": 64,
    "convnext_atto": 64,
    "convnextv2_atto": 64,  # global response norm
    "vit_tiny_patch16_224": 224,
    "swin_tiny_patch4_window7_224": 224,
    "mixer_s32_224": 224,
    "regnety_002": 64,
    "dla34": 64,
    "mobilevit_xxs": 64,
    "eva02_tiny_patch14_224": 224,
}
TORCHVISION = {
    "resnet18": 64,
    "densenet121": 64,
    "shufflenet_v2_x0_5": 64,
    "convnext_tiny": 64,
    "swin_v2_t": 64,
    "vit_b_32": 224,
}
HEAVY = {"resnetv2_50", "swin_tiny_patch4_window7_224", "eva02_tiny_patch14_224", "vit_b_32", "fcn_resnet50"}
SEGMENTATION = ("deeplabv3_mobilenet_v3_large", "fcn_resnet50", "lraspp_mobilenet_v3_large")


def heavy_apart(names: Iterable[str]) -> list[Any]:
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in HEAVY)) for name in names]


def text_config() -> Any:
    return transformers.BertConfig(
        vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=4
    )


def llama_config() -> Any:
    return transformers.LlamaConfig(
        vocab_size=50,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        num_labels=4,
        pad_token_id=0,
    )


def images(size: int) -> dict[str, Tensor]:
    return {"pixel_values": torch.randn(4, 3, size, size)}


def words() -> dict[str, Tensor]:
    ids = torch.randint(1, 50, (3, 7))
    mask = torch.ones_like(ids)
    mask[1, 4:] = 0
    return {"input_ids": ids * mask, "attention_mask": mask}


HF: dict[str, tuple[Callable[[], nn.Module], Callable[[], dict[str, Tensor]]]] = {
    "resnet": (
        lambda: transformers.ResNetForImageClassification(
            transformers.ResNetConfig(hidden_sizes=[16, 32], depths=[1, 1], embedding_size=16, num_labels=4)
        ),
        lambda: images(64),
    ),
    "vit": (
        lambda: transformers.ViTForImageClassification(
            transformers.ViTConfig(
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=2,
                intermediate_size=64,
                image_size=64,
                num_labels=4,
            )
        ),
        lambda: images(64),
    ),
    "convnext": (
        lambda: transformers.ConvNextForImageClassification(
            transformers.ConvNextConfig(hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1], num_labels=4)
        ),
        lambda: images(64),
    ),
    "segformer": (
        lambda: transformers.SegformerForSemanticSegmentation(
            transformers.SegformerConfig(hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1], decoder_hidden_size=32)
        ),
        lambda: images(64),
    ),
    "bert": (lambda: transformers.BertForSequenceClassification(text_config()), words),
    "bert-tokens": (lambda: transformers.BertForTokenClassification(text_config()), words),
    "llama": (lambda: transformers.LlamaForSequenceClassification(llama_config()), words),
}


def sequences() -> dict[str, Tensor]:
    return {"input_ids": torch.randint(1, 50, (3, 7)), "decoder_input_ids": torch.randint(1, 50, (3, 5))}


def small(**more: Any) -> dict[str, Any]:
    return {"vocab_size": 50, "tie_word_embeddings": True, **more}


# the head's weight is the embedding's
TIED: dict[str, tuple[Callable[[], nn.Module], Callable[[], dict[str, Tensor]]]] = {
    "gpt2": (
        lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(**small(n_embd=32, n_layer=2, n_head=2))),
        words,
    ),
    "bert-mlm": (lambda: transformers.BertForMaskedLM(text_config()), words),
    "t5": (
        lambda: transformers.T5ForConditionalGeneration(
            transformers.T5Config(**small(d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2))
        ),
        sequences,
    ),
    "llama-lm": (
        lambda: transformers.LlamaForCausalLM(
            transformers.LlamaConfig(
                **small(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
            )
        ),
        words,
    ),
    "mamba": (
        lambda: transformers.MambaForCausalLM(transformers.MambaConfig(**small(hidden_size=32, num_hidden_layers=2))),
        lambda: {"input_ids": torch.randint(1, 50, (3, 7))},
    ),
}


def hold(model: nn.Module, *args: Tensor, **kwargs: Tensor) -> None:
    with torch.no_grad():
        for parameter in model.parameters():  # many heads and layer scales begin at zero, where nothing learns
            parameter += 0.02 * torch.randn_like(parameter)
        model.eval()(*args, **kwargs)  # what a plain call leaves behind (transformers' own hooks) is the model's doing
    model.train()
    photograph = Photograph(model)
    adapted = tent.adapt(model, lr=0.05)
    first = [adapted(*args, **kwargs) for _ in range(2)]
    photograph.check()
    source = model.state_dict()
    still = [name for name, p in adapted.named_parameters() if torch.equal(p, source[name])]
    assert len(still) <= 0.35 * len(list(adapted.named_parameters())), still
    assert not any(t.requires_grad for t in list_tensors(first))
    assert type(first[0]) is type(model.eval()(*args, **kwargs))
    model.train()
    adapted.reset()
    again = [adapted(*args, **kwargs) for _ in range(2)]
    for one, two in zip(list_tensors(first), list_tensors(again), strict=True):
        assert torch.equal(one, two)
    assert not torch.equal(list_tensors(first[0])[-1], list_tensors(first[1])[-1])
    assert adapted.updates == 4
    assert adapted.skipped == 0


@pytest.mark.parametrize("name", heavy_apart(TIMM))
def test_timm(name: str) -> None:
    torch.manual_seed(0)
    hold(timm.create_model(name, num_classes=10), torch.randn(4, 3, TIMM[name], TIMM[name]))


@pytest.mark.parametrize("name", heavy_apart(TORCHVISION))
def test_torchvision_classification(name: str) -> None:
    torch.manual_seed(0)
    hold(
        torchvision.models.get_model(name, weights=None, num_classes=10),
        torch.randn(4, 3, TORCHVISION[name], TORCHVISION[name]),
    )


@pytest.mark.parametrize("name", heavy_apart(SEGMENTATION))
def test_torchvision_segmentation(name: str) -> None:
    torch.manual_seed(0)
    model = torchvision.models.get_model(name, weights=None, weights_backbone=None, num_classes=4)
    hold(model, torch.randn(4, 3, 64, 64))


@pytest.mark.parametrize("name", HF)
def test_transformers(name: str) -> None:
    torch.manual_seed(0)
    make, inputs = HF[name]
    hold(make(), **inputs())


@pytest.mark.parametrize("name", TIED)
def test_transformers_with_a_tied_head(name: str) -> None:
    torch.manual_seed(0)
    make, inputs = TIED[name]
    model, given = make(), inputs()
    head = model.get_output_embeddings()
    assert head.weight is model.get_input_embeddings().weight
    seen = tent.adapt(model).state.forward(**given, grad=False)
    assert seen.features is not None
    assert seen.features.shape[-1] == head.weight.shape[1]
    photograph = Photograph(model)
    adapted = tent.adapt(model, lr=0.05)
    for _ in range(2):
        adapted(**given)
    photograph.check()
    source = model.state_dict()
    assert any(not torch.equal(p, source[name]) for name, p in adapted.named_parameters())
    assert (adapted.updates, adapted.skipped) == (2, 0)
