"""An adapted model shows its source's attributes: parts and methods run adapted, and nothing writes to the source."""

import copy
import inspect

import pytest
import timm
import torch
from torch import nn
from toys import Photograph, batches, made

import tent
from tent import select


class Net(nn.Module):
    """A net with the attributes that libraries look for."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.bn, self.fc = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 5)
        self.scale = nn.Parameter(torch.ones(4))
        self.num_classes, self.config, self.tags = 5, {"labels": ["a", "b"]}, ["x"]

    def forward_features(self, pixel_values: torch.Tensor) -> torch.Tensor:
        return self.bn(self.body(pixel_values)).mean((2, 3)) * self.scale

    def forward(self, pixel_values: torch.Tensor, flip: bool = False) -> torch.Tensor:
        return self.fc(self.forward_features(pixel_values.flip(3) if flip else pixel_values))

    def get_classifier(self) -> nn.Module:
        return self.fc

    def reset_classifier(self, classes: int) -> None:
        self.fc = nn.Linear(4, classes)

    @property
    def dtype(self) -> torch.dtype:
        return self.scale.dtype


@pytest.fixture
def net() -> Net:
    torch.manual_seed(0)
    return Net().eval()


def test_values_pass_through_and_copies_protect_the_source(net: Net) -> None:
    adapted = tent.adapt(net)
    assert (adapted.num_classes, adapted.config, adapted.dtype) == (5, {"labels": ["a", "b"]}, torch.float32)
    adapted.tags.append("y")
    adapted.config["labels"].append("c")
    adapted.scale.zero_()
    assert net.tags == ["x"]
    assert net.config == {"labels": ["a", "b"]}
    assert torch.equal(net.scale, torch.ones(4))
    assert hasattr(adapted, "fc")
    assert not hasattr(adapted, "head")
    with pytest.raises(AttributeError, match="head"):
        adapted.head  # noqa: B018


def test_parts_and_methods_run_at_the_adapted_parameters_without_an_update(net: Net) -> None:
    adapted, photograph = tent.adapt(net, select=select.everything, lr=0.05, lean=False), Photograph(net)
    stream = batches(4)
    for x in stream:
        adapted(x)
    with adapted.paused():
        expected = adapted(stream[0])
    for head in (adapted.fc, adapted.get_classifier()):
        features = adapted.forward_features(stream[0])
        assert torch.equal(head(features), expected)
        assert not torch.equal(net.fc(features), expected)
    assert adapted.updates == 4
    assert torch.equal(adapted.fc.weight, adapted.state.params["fc.weight"])
    assert isinstance(adapted.fc, nn.Linear)
    assert adapted.fc.in_features == 4
    assert all(torch.equal(p, adapted.state.params[f"fc.{name}"]) for name, p in adapted.fc.named_parameters())
    photograph.check()


def test_nothing_writes_to_the_source(net: Net) -> None:
    adapted, photograph = tent.adapt(net), Photograph(net)
    for name, value in (("fc", nn.Linear(4, 2)), ("scale", nn.Parameter(torch.zeros(4)))):
        with pytest.raises(AttributeError, match=f"{name} is the source model's, which is never written to"):
            setattr(adapted, name, value)
    with pytest.raises(AttributeError, match="bias is the source model's"):
        adapted.fc.bias = None
    with pytest.raises(RuntimeError, match="reset_classifier is the source model's own"):
        adapted.reset_classifier(3)
    adapted.fc.weight.zero_()
    adapted.note = "mine"  # an attribute of its own
    assert adapted.note == "mine"
    photograph.check()


def test_forward_shows_what_the_source_takes(net: Net) -> None:
    adapted = tent.adapt(net)
    assert list(inspect.signature(adapted.forward).parameters) == ["pixel_values", "flip"]
    assert adapted.forward(pixel_values=batches(1)[0], flip=True).shape == (6, 5)


def test_copies_are_deep(net: Net) -> None:
    adapted = tent.adapt(net)
    with pytest.raises(TypeError, match="would share what is adapted"):
        copy.copy(adapted)
    with pytest.raises(TypeError, match="part of an adapted model is not copied"):
        copy.deepcopy(adapted.fc)
    assert copy.deepcopy(adapted).num_classes == 5


def test_timm_finds_the_sources_data_config() -> None:
    model = timm.create_model("resnet10t", num_classes=5).eval()
    adapted = tent.adapt(model)
    ours, theirs = timm.data.resolve_model_data_config(adapted), timm.data.resolve_model_data_config(model)
    assert ours == theirs
    assert ours["input_size"] != timm.data.resolve_model_data_config(nn.Identity())["input_size"]
    assert (adapted.default_cfg, adapted.num_classes) == (model.default_cfg, 5)
    assert adapted.forward_features(torch.randn(8, 3, 64, 64)).shape[:2] == (8, 512)


def test_an_adapted_model_is_not_adapted_again() -> None:
    adapted = tent.adapt(made("conv"))
    for model in (adapted, nn.Sequential(adapted)):
        with pytest.raises(ValueError, match=r"adapted already; adapt its source: tent\.adapt\(adapted\.source\)"):
            tent.adapt(model)


def test_names_can_be_selected() -> None:
    adapted = tent.adapt(made("conv"), select=["10.weight", "1.bias"])
    assert [name for name, _ in adapted.named_parameters()] == ["1.bias", "10.weight"]
    with pytest.raises(ValueError, match=r"Sequential has no parameter '10.weigth'; the nearest is '10.weight'"):
        tent.adapt(made("conv"), select=["10.weigth"])
    with pytest.raises(TypeError, match=r"select must be a function of the model or names such as \['fc.weight'\]"):
        tent.adapt(made("conv"), select="fc.weight")  # type: ignore[arg-type]
