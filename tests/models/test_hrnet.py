"""HRNet: the sizes that were published, weights under published names, and what a wrong file is told."""

from pathlib import Path

import pytest
import timm
import torch
import torch.nn.functional as F
from command import tent
from PIL import Image

from tent.models import SEGMENTERS, zoo
from tent.models.segmenters.hrnet import HRNet, Plan
from tent.models.weight_files import load_weights

TINY = Plan((1, 4), (1, 1, 1), 1, 4)
TRUNKS = {"hrnet-w18": "hrnet_w18", "hrnet-w18-small-v2": "hrnet_w18_small_v2", "hrnet-w18-small-v1": "hrnet_w18_small"}
OTHER_HEAD = ("incre_modules", "downsamp_modules", "final_layer", "classifier")  # of timm's classifiers


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("hrnet-w18", 9_641_119), ("hrnet-w18-small-v2", 3_939_579), ("hrnet-w18-small-v1", 1_540_819)],
)
def test_parameters_as_published_and_a_trunk_as_in_timm(name: str, parameters: int) -> None:
    with torch.device("meta"):
        model, other = SEGMENTERS[name](classes=19), timm.create_model(TRUNKS[name])
    assert sum(p.numel() for p in model.parameters()) == parameters
    shapes = {name: p.shape for name, p in model.named_parameters() if not name.startswith("last_layer.")}
    trunk = {name: p.shape for name, p in other.named_parameters() if not name.startswith(OTHER_HEAD)}
    assert shapes == trunk  # the published names and sizes, which timm kept


def test_the_trunk_computes_what_timms_does() -> None:
    torch.manual_seed(0)
    model, other = SEGMENTERS["hrnet-w18-small-v1"](classes=3).eval(), timm.create_model("hrnet_w18_small").eval()
    own = {name: tensor for name, tensor in model.state_dict().items() if not name.startswith("last_layer.")}
    other.load_state_dict(own, strict=False)
    for module in other.modules():
        if isinstance(module, torch.nn.Upsample):
            module.mode = "bilinear"  # timm's classifiers resize by the nearest pixel
    seen: list[torch.Tensor] = []
    model.stage4.register_forward_hook(lambda module, inputs, output: seen.extend(output))
    with torch.no_grad():
        x = torch.randn(1, 3, 64, 96)
        logits = model(x)
        due = other.stages(torch.relu(other.bn2(other.conv2(torch.relu(other.bn1(other.conv1(x)))))))
    assert logits.shape == (1, 3, 16, 24)
    assert len(seen) == len(due) == 4
    for ours, theirs in zip(seen, due, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-4)


def test_the_head_computes_what_the_authors_does() -> None:
    """All branches at the size of the finest, corners not aligned, the finest first; then 1x1, norm, relu and 1x1."""
    torch.manual_seed(0)
    model, seen = HRNet(TINY, 5).eval(), []
    for layer in model.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.running_mean.normal_(std=0.2)  # type: ignore[union-attr, operator]
            layer.running_var.uniform_(0.5, 2)  # type: ignore[union-attr, operator]
    model.stage4.register_forward_hook(lambda module, inputs, output: seen.extend(output))
    with torch.no_grad():
        logits = model(torch.randn(2, 3, 50, 70))
        size, weights = seen[0].shape[2:], model.state_dict()
        assert [branch.shape[1] for branch in seen] == [4, 8, 16, 32]
        maps = [seen[0], *(F.interpolate(branch, size, mode="bilinear", align_corners=False) for branch in seen[1:])]
        x = torch.cat(maps, 1)  # (2, 60, 13, 18)
        first, bias, last, shift = (weights[f"last_layer.{i}.{name}"] for i in (0, 3) for name in ("weight", "bias"))
        x = torch.einsum("oi,nihw->nohw", first[..., 0, 0], x) + bias[:, None, None]
        mean, var, scale, move = (
            weights[f"last_layer.1.{name}"][:, None, None] for name in ("running_mean", "running_var", "weight", "bias")
        )
        x = ((x - mean) / (var + 1e-5).sqrt() * scale + move).clamp(min=0)
        due = torch.einsum("oi,nihw->nohw", last[..., 0, 0], x) + shift[:, None, None]
    assert torch.allclose(logits, due, atol=1e-5)


@pytest.mark.parametrize("size", [(64, 64), (50, 70), (33, 47)])
def test_odd_sizes_are_answered_at_a_quarter(size: tuple[int, int]) -> None:
    logits = HRNet(TINY, 5).eval()(torch.randn(1, 3, *size))
    assert logits.shape == (1, 5, -(-size[0] // 4), -(-size[1] // 4))


def published(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return weights as the authors' training writes them: in a wrapper, with the loss's own, without counts."""
    state = {f"module.model.{name}": t for name, t in model.state_dict().items() if "num_batches" not in name}
    return {**state, "module.loss.criterion.weight": torch.ones(19)}


def test_published_weights_load(tmp_path: Path) -> None:
    trained, path = SEGMENTERS["hrnet-w18-small-v1"](), tmp_path / "best.pth"
    torch.save({"state_dict": published(trained), "epoch": 3}, path)
    entry = zoo.load("hrnet-w18-small-v1", path)
    assert (entry.classes, entry.weights, entry.model.training) == (19, "best.pth", False)
    assert entry.class_names is not None
    assert (entry.class_names[0], entry.class_names[18]) == ("road", "bicycle")
    for name, tensor in trained.state_dict().items():
        assert torch.equal(entry.model.state_dict()[name], tensor), name
    assert zoo.load("hrnet-w18-small-v1", pretrained=False).weights == "none: drawn at random"


@pytest.mark.parametrize("command", ["adapt", "analyse"])
def test_random_weights_are_no_model_to_adapt(command: str, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    Image.new("RGB", (64, 64)).save(tmp_path / "photos/0.png")
    ran = tent(tmp_path, command, "hrnet-w18-small-v1", "photos", "--out", "out")
    said = "tent: hrnet-w18-small-v1 has no weights of its own; give a file of them, with --weights FILE, or name a "
    assert (ran.returncode, ran.stderr.strip().startswith(said)) == (2, True), ran.stderr
    assert "trained:FOLDER" in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out/summary.json").exists()
    with pytest.raises(ValueError, match="has no weights of its own"):  # as `tent bench --model` asks for it
        zoo.load("hrnet-w18-small-v1")


def test_the_doctor_examines_a_network_without_weights(tmp_path: Path) -> None:
    ran = tent(tmp_path, "doctor", "hrnet-w18-small-v1", "--input", "1,3,64,64")
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("prefix", ["", "model.", "module.", "module.model."])
@pytest.mark.parametrize("inside", [None, "state_dict"])
def test_every_prefix_that_the_authors_code_writes_is_taken_off(
    prefix: str, inside: str | None, tmp_path: Path
) -> None:
    """Names as a plain state_dict has them, the training's wrapper with its loss, and DataParallel around either."""
    torch.manual_seed(1)
    trained = HRNet(TINY, 19)
    state = {f"{prefix}{name}": tensor for name, tensor in trained.state_dict().items()}
    if prefix.endswith("model."):
        state[f"{prefix.removesuffix('model.')}loss.criterion.weight"] = torch.ones(19)
    torch.save({inside: state, "epoch": 484} if inside else state, tmp_path / "best.pth")
    model = HRNet(TINY, 19)
    load_weights(model, "tiny", tmp_path / "best.pth")
    assert all(torch.equal(tensor, trained.state_dict()[name]) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (
            (
                "aux_head.0.weight",
                "conv3x3_ocr.0.weight",
                "ocr_distri_head.conv_bn_dropout.0.weight",
                "cls_head.weight",
            ),
            r"not the weights of tiny: an HRNet with OCR \(it has conv3x3_ocr\), and this one has a plain head",
        ),
        (
            ("incre_modules.0.0.conv1.weight", "downsamp_modules.0.0.weight", "classifier.weight"),
            r"not the weights of tiny: an ImageNet classifier \(it has incre_modules\), and this one segments",
        ),
    ],
)
def test_other_heads_are_named_in_one_line(parts: tuple[str, ...], said: str, tmp_path: Path) -> None:
    trunk = {name: tensor for name, tensor in HRNet(TINY, 19).state_dict().items() if "last_layer" not in name}
    state = {f"model.{name}": tensor for name, tensor in {**trunk, **dict.fromkeys(parts, torch.ones(1))}.items()}
    torch.save(state, tmp_path / "ocr.pth")
    with pytest.raises(ValueError, match=rf"ocr\.pth: {said}") as caught:
        load_weights(HRNet(TINY, 19), "tiny", tmp_path / "ocr.pth")
    assert len(str(caught.value).splitlines()) == 1


def test_other_weights_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.pth"
    torch.save(published(SEGMENTERS["hrnet-w18-small-v1"](classes=7)), path)
    with pytest.raises(
        ValueError, match=r"not the weights of hrnet-w18-small-v1: last_layer.3.weight is \(7,"
    ) as caught:
        zoo.load("hrnet-w18-small-v1", path)
    remedy = "they seem to be of 7 classes and not of 19: name a model of 7 classes, or the folder that `tent train`"
    assert remedy in str(caught.value)
    assert str(caught.value).endswith("as trained:FOLDER")
    with pytest.raises(ValueError, match=r"not the weights of hrnet-w18-small-v2: it lacks layer1\.1"):
        zoo.load("hrnet-w18-small-v2", path)
    torch.save({"state_dict": {"conv1.weight": torch.ones(1)}, "note": Path("x")}, path)
    with pytest.raises(ValueError, match="holds more than tensors, which is never run"):
        zoo.load("hrnet-w18-small-v1", path)
