import pytest
import torch
import torchvision
from torch import Tensor, nn
from toys import Photograph, batches, made

import tent
from tent import norm
from tent.doctor.example_input import example_input
from tent.doctor.findings import Report


def findings(report: Report, level: str) -> str:
    return " | ".join(f"{f.what} -> {f.remedy}" for f in report.findings if f.level == level)


def test_a_sound_model_is_ready_and_left_as_found() -> None:
    net = made("conv").train()
    photograph = Photograph(net)
    report = tent.doctor(net, torch.randn(16, 3, 8, 8))
    photograph.check()
    assert report.ok
    assert report.facts["norm layers"] == "2 BatchNorm2d"
    assert report.facts["adapts"] == "32 of 877 parameters (3.65%)"
    assert report.facts["answers"] == "logits of shape (16, 5), 5 classes"
    assert "from 144 values a channel at the least, in '6'" in report.facts["statistics"]
    assert findings(report, "warning") == ""
    assert "2 dropout or stochastic depth layers" in findings(report, "note")
    assert "train mode" in findings(report, "note")


def test_it_prints_as_a_table() -> None:
    lines = str(tent.doctor(made("conv"), torch.rand(4, 3, 8, 8))).splitlines()
    assert lines[0].split() == ["model", "Sequential"]
    assert lines[-1].split() == ["verdict", "ready", "to", "adapt"]
    assert all(len(line) <= 100 for line in lines)
    assert any(line.startswith("warning") for line in lines)


def test_no_norm_layers() -> None:
    report = tent.doctor(nn.Linear(3, 3), torch.randn(2, 3))
    assert not report.ok
    assert "no norm layers -> choose what moves" in findings(report, "error")


def test_a_norm_without_affine_parameters() -> None:
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, affine=False), nn.Flatten(), nn.Linear(144, 3)).eval()
    assert "only their statistics adapt" in findings(tent.doctor(net, batches(1)[0]), "note")


def test_frozen_norms() -> None:
    net = torchvision.models.resnet18(norm_layer=torchvision.ops.FrozenBatchNorm2d)
    report = tent.doctor(net)
    assert "20 frozen norm layers, such as 'bn1'" in findings(report, "error")
    assert "norm_layer=nn.BatchNorm2d" in findings(report, "error")
    some = nn.Sequential(nn.Conv2d(3, 4, 3), torchvision.ops.FrozenBatchNorm2d(4), nn.BatchNorm2d(4))
    assert "1 frozen norm layers, such as '1'" in findings(tent.doctor(some), "warning")
    assert tent.doctor(some).ok


@pytest.mark.parametrize(("samples", "level"), [(1, "error"), (3, "error"), (4, "note"), (64, "")])
def test_few_samples_are_found_though_a_channel_has_many_values(samples: int, level: str) -> None:
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))
    report = tent.doctor(net, torch.randn(samples, 3, 32, 32))
    assert report.ok == (level != "error")
    assert (f"{samples} sample" in findings(report, level)) == bool(level)
    prior = norm.for_batch_size(samples)
    assert not level or f"stats=tent.norm.{prior}, or bring batches of 64 or more" in findings(report, level)


def test_one_image_is_enough_where_every_pixel_is_told_or_nothing_is_normalised_across() -> None:
    assert tent.doctor(made("residual"), torch.randn(1, 3, 32, 32)).ok
    layers = nn.Sequential(nn.Flatten(), nn.LayerNorm(48), nn.Linear(48, 3))
    assert tent.doctor(layers, torch.randn(1, 3, 4, 4)).ok


def test_norms_without_parameters_and_statistics_cannot_adapt() -> None:
    bare = nn.BatchNorm2d(4, affine=False, track_running_stats=False)
    net = nn.Sequential(nn.Conv2d(3, 4, 3), bare, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))
    assert "neither γ and β nor statistics" in findings(tent.doctor(net, torch.randn(8, 3, 8, 8)), "error")


def test_sigmoids_are_noticed() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 3), nn.Sigmoid())
    assert "take the sigmoid out" in findings(tent.doctor(net, torch.randn(40, 4)), "warning")
    assert "sigmoid" not in findings(tent.doctor(net[:3], torch.randn(40, 4)), "warning")


def test_an_adapted_model_is_sent_back() -> None:
    report = tent.doctor(tent.adapt(made("conv")), batches(1)[0])
    assert "the model is adapted already -> adapt its source" in findings(report, "error")


@pytest.mark.parametrize(
    ("conv", "side"), [(nn.Conv2d(3, 4, 3, padding=1), 32), (nn.Conv2d(1, 4, 7, stride=2), 224), (None, 28)]
)
def test_an_example_is_of_the_size_that_a_model_is_made_for(conv: nn.Module | None, side: int) -> None:
    rest = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3)] if conv else [nn.Flatten(), nn.Linear(3 * 28**2, 3)]
    images = example_input(nn.Sequential(*([conv] if conv else []), *rest))
    assert images.shape[1:] == (conv.in_channels if conv else 3, side, side)


def test_an_example_follows_what_a_model_says_of_itself() -> None:
    net = nn.Conv2d(3, 4, 16)
    assert example_input(net, 48).shape == (64, 3, 48, 48)
    net.pretrained_cfg = {"input_size": (3, 96, 80)}
    assert example_input(net).shape[2:] == (96, 80)


class ByHand(nn.Module):
    """A batch norm that normalises by hand, from its buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.register_buffer("running_mean", torch.zeros(3))
        self.register_buffer("running_var", torch.ones(3))
        self.fc = nn.Linear(3, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc((x - self.running_mean) / self.running_var.sqrt() * self.weight)


def test_hand_written_norms() -> None:
    report = tent.doctor(nn.Sequential(ByHand(), nn.LayerNorm(4)), torch.randn(64, 3))
    assert "1 of 1 layers with running statistics, such as '0', did not call" in findings(report, "warning")


@pytest.mark.filterwarnings("ignore:.*torch.jit")
def test_a_script_module() -> None:
    report = tent.doctor(torch.jit.trace(made("conv"), batches(1)[0]), batches(1)[0])
    assert not report.ok
    assert "ScriptModule, whose inside is hidden -> adapt the Python model" in findings(report, "error")


def test_a_batch_too_small() -> None:
    report = tent.doctor(made("conv"), torch.randn(2, 3, 8, 8))
    assert "'6' has 18 values a channel (2 samples of 9 positions)" in findings(report, "warning")
    assert "bring batches of 8 or more" in findings(report, "warning")
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).eval()
    report = tent.doctor(net, torch.randn(1, 3))
    assert not report.ok
    assert "one value a channel" in findings(report, "error")


@pytest.mark.parametrize(
    ("images", "level", "what"),
    [
        (torch.rand(8, 3, 8, 8) * 255, "warning", "raw pixels?"),
        (torch.rand(8, 3, 8, 8), "note", "not normalised?"),
        (torch.randint(255, (8, 3, 8, 8), dtype=torch.uint8), "error", "which models do not take"),
        (torch.full((8, 3, 8, 8), torch.nan), "error", "holds NaN or Inf"),
    ],
)
def test_inputs_that_look_wrong(images: Tensor, level: str, what: str) -> None:
    assert what in findings(tent.doctor(made("conv"), images), level)


def test_outputs_that_look_wrong() -> None:
    net = made("conv")
    softmax = nn.Sequential(net, nn.Softmax(1))
    assert "probabilities, where logits are expected" in findings(tent.doctor(softmax, batches(1)[0]), "error")
    assert tent.doctor(softmax, batches(1)[0], logits=lambda p: p.log()).ok
    with torch.no_grad():
        net[-1].weight.fill_(torch.inf)
    assert "outputs are not finite" in findings(tent.doctor(net, batches(1)[0]), "error")


def test_a_step_that_fails() -> None:
    report = tent.doctor(made("conv"), torch.randn(4, 5, 8, 8))
    assert "a step failed" in findings(report, "error")
    assert not report.ok
    report = tent.doctor(nn.Sequential(nn.LayerNorm(3), nn.Linear(3, 1)), torch.randn(4, 3))
    assert "name one class" in findings(report, "error")


def test_norms_that_have_no_part_in_the_answer() -> None:
    class Spare(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.spare_norm = nn.LayerNorm(3), nn.LayerNorm(3)

        def forward(self, x: Tensor) -> Tensor:
            return self.norm(x)

    assert "2 of 4 norm parameters, such as 'spare_norm.weight'" in findings(
        tent.doctor(Spare(), torch.eye(3)), "warning"
    )


def test_a_forward_without_gradients() -> None:
    class Off(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(3)

        @torch.no_grad()
        def forward(self, x: Tensor) -> Tensor:
            return self.norm(x)

    assert "no gradient reaches" in findings(tent.doctor(Off(), torch.eye(3)), "error")


def test_a_model_that_writes_to_its_own_buffers() -> None:
    class Counts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(3)
            self.register_buffer("calls", torch.zeros(1))

        def forward(self, x: Tensor) -> Tensor:
            self.calls += 1
            return self.norm(x)

    assert "writes to its own buffers" in findings(tent.doctor(Counts(), torch.eye(3)), "warning")
