"""The lean path as a whole: on by default, off by one argument, and never in a model's way."""

import copy
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import timm
import torch
from reference import PlainTent
from torch import Tensor, nn
from toys import batches, made

import tent
from tent.data.corruptions import corrupt
from tent.data.sample import sample
from tent.doctor.memory import saved_bytes
from tent.engine.state import ScaledTooFarError
from tent.models import zoo


class Viewed(nn.Module):
    """A model that views its images in a shape that only the usual layout allows."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.fc = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(4 * 36, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(self.conv(x))
        return self.fc(x.view(len(x), -1))


def step_saves(model: nn.Module, x: Tensor, **options: object) -> int:
    adapted = tent.adapt(model, **options)
    with saved_bytes([*model.parameters(), *model.buffers(), *adapted.parameters()]) as count:
        adapted(x)
    return count.bytes


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Sums in one order: in another, a relu next to zero may fall the other way, and Adam step with it."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_a_step_on_the_shipped_model_agrees_with_the_plain_one(one_thread: None) -> None:
    entry, images = zoo.load("r26-cifar10"), sample()
    pixels = corrupt(images.fetch(torch.arange(1000).numpy()), "gaussian_noise", 5)
    stream = [entry.preprocess(pixels[i : i + 100]) for i in range(0, 1000, 100)]
    ours, plain = tent.adapt(entry.model), PlainTent(entry.model)
    for x in stream:
        mine, theirs = ours(x), plain.step(x)
    torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4 * float(theirs.abs().max()))
    for name, parameter in ours.named_parameters():
        torch.testing.assert_close(parameter, dict(plain.model.named_parameters())[name], rtol=0, atol=1e-3)


@pytest.mark.parametrize("stats", [tent.norm.Batch(), tent.norm.Source()])
@pytest.mark.parametrize("ending", ["bias", "weight"])
def test_any_part_of_a_layer_may_move_alone(stats: tent.norm.Stats, ending: str) -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)).eval()
    for layer in ("0", "1", "4") if ending == "weight" else ("1", "4"):  # a norm takes a bias before it away
        name = f"{layer}.{ending}"
        found = []
        for lean in (True, False):
            adapted = tent.adapt(model, select=lambda model, name=name: [name], stats=stats, lean=lean)
            torch.manual_seed(0)
            adapted(torch.randn(6, 3, 8, 8))
            found.append(adapted.state_dict()[name])
        assert not torch.equal(found[0], model.state_dict()[name])
        assert torch.allclose(*found, atol=1e-4)


def test_without_it_everything_is_torchs_own_to_the_bit() -> None:
    model, x = made("conv"), batches(1)[0]
    assert torch.equal(tent.adapt(model, tent.Source(), lean=False)(x), model(x))


@pytest.mark.parametrize(
    ("name", "share"),
    [("resnet18", 0.55), ("efficientnet_b0", 0.75), ("vit_tiny_patch16_224", 0.75), ("convnext_atto", 0.75)],
)
def test_less_is_kept(name: str, share: float) -> None:
    model = timm.create_model(name, num_classes=10).eval()
    x = torch.randn(4, 3, 224, 224)
    assert step_saves(model, x) <= share * step_saves(model, x, lean=False)


@pytest.mark.parametrize("activation", [nn.ReLU6(), nn.ReLU6(inplace=True), nn.Hardtanh(-2, 2), nn.ReLU()])
def test_a_cut_behind_a_batch_norm_keeps_nothing_of_its_own(activation: nn.Module) -> None:
    layers = [nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), activation, nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    x = torch.randn(4, 3, 32, 32)
    without = nn.Sequential(*(layer for layer in layers if layer is not activation), nn.Linear(8, 5))
    assert step_saves(nn.Sequential(*layers, nn.Linear(8, 5)).eval(), x) - step_saves(without.eval(), x) < 4 * 8 * 30


def test_every_third_wide_product_is_kept_since_time_counts_too() -> None:
    model = timm.create_model("vit_tiny_patch16_224", num_classes=10, depth=6).eval()
    x = torch.randn(2, 3, 224, 224)
    values = 2 * 197 * 4 * 192 * 4  # bytes that a gelu's input takes
    adapted = tent.adapt(model)
    with saved_bytes([*model.parameters(), *adapted.parameters()]) as some:
        adapted(x)
    adapted.state.setup.execution.buffers.costly = frozenset()
    with saved_bytes([*model.parameters(), *adapted.parameters()]) as none:
        adapted(x)
    assert some.bytes - none.bytes == 2 * values


def test_bfloat16_keeps_half_of_that_again() -> None:
    model = timm.create_model("resnet18", num_classes=10).eval()
    x = torch.randn(8, 3, 64, 64)
    assert step_saves(model, x, precision="bfloat16") <= 0.35 * step_saves(model, x, lean=False)


def test_bfloat16_leaves_answers_parameters_and_loss_in_float32() -> None:
    model, x = made("conv"), batches(1)[0]
    adapted = tent.adapt(model, precision="bfloat16")
    assert adapted(x).dtype == torch.float32
    assert all(p.dtype == torch.float32 for p in adapted.parameters())
    assert torch.allclose(tent.adapt(model, precision="bfloat16")(x), tent.adapt(model)(x), atol=0.1)
    assert not torch.equal(tent.adapt(model, precision="bfloat16")(x), tent.adapt(model)(x))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"precision": "int8"}, "precision must be one of"),
        ({"precision": "float16"}, "is for GPUs; on a CPU use precision='bfloat16'"),
    ],
)
def test_precisions_that_cannot_be(options: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        tent.adapt(made("conv"), **options)


def test_a_model_that_is_narrow_already_is_told_so() -> None:
    with pytest.raises(ValueError, match="is for a float32 model"):
        tent.adapt(made("conv").double(), precision="bfloat16")


def test_a_model_that_cannot_have_its_channels_last_is_run_as_usual() -> None:
    model, x = Viewed().eval(), torch.randn(6, 3, 8, 8)
    adapted = tent.adapt(model)
    assert torch.allclose(adapted(x), tent.adapt(model, lean=False)(x), atol=1e-5)
    assert not adapted.state.setup.execution.images_last


def test_answers_are_laid_out_as_the_models_own() -> None:
    class Map(nn.Sequential):
        pass

    model = Map(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 5, 1)).eval()
    x = torch.randn(2, 3, 8, 8)
    assert tent.adapt(model)(x).is_contiguous()
    last = x.contiguous(memory_format=torch.channels_last)
    assert tent.adapt(model)(last).is_contiguous(memory_format=torch.channels_last)


def test_answers_stay_when_later_batches_come() -> None:
    model = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU()).eval()
    adapted = tent.adapt(model, logits=lambda y: y.mean((2, 3)))
    x = torch.randn(8, 3, 64, 64)
    first = adapted(x)
    kept = first.clone()
    adapted(x * 2)
    assert torch.equal(first, kept)


def test_the_optimizer_is_fused_unless_the_caller_chose() -> None:
    model = made("conv")
    assert tent.adapt(model).state.optimizer.defaults["fused"]
    assert not tent.adapt(model, lean=False).state.optimizer.defaults["fused"]
    chosen = tent.adapt(model, optimizer=lambda params: torch.optim.Adam(params, lr=1e-3))
    assert not chosen.state.optimizer.defaults["fused"]
    assert tent.adapt(model, optimizer=torch.optim.RMSprop, lr=0.1).state.optimizer.defaults["lr"] == 0.1


def test_a_loss_is_scaled_down_until_its_gradients_are_finite() -> None:
    param = torch.ones(3, requires_grad=True)
    state = tent.adapt(made("conv")).state
    state.params, state.scale = {"w": param}, 2.0**126
    with pytest.raises(ScaledTooFarError):
        state.backward((param * 1e3).sum())
    assert param.grad is None
    assert state.scale == 2.0**124
    state.scale = 4.0
    state.backward((param * 3).sum())
    assert torch.equal(param.grad, torch.full((3,), 3.0))
    assert state.loss == 9.0


def test_the_engine_makes_the_pass_again_at_a_smaller_scale() -> None:
    model, x = made("conv"), batches(1)[0]
    method = tent.Tent(lambda logits: tent.losses.entropy(logits) * 1000)
    adapted, plain = tent.adapt(model, method), tent.adapt(model, method)
    adapted.state.scale = math.ldexp(1.0, 127)
    assert torch.equal(adapted(x), plain(x))
    assert adapted.state.counts.forwards > plain.state.counts.forwards == len(x)
    for one, other in zip(adapted.parameters(), plain.parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def test_a_copy_has_buffers_of_its_own() -> None:
    adapted = tent.adapt(made("conv"))
    twin = copy.deepcopy(adapted)
    assert twin.state.setup.execution.buffers is not adapted.state.setup.execution.buffers


def test_the_code_on_the_page_runs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "speed.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(block, "docs/speed.md", "exec"), {})
