"""Features: captured without a trace, added up as a plain recomputation finds them, compared layer by layer."""

from pathlib import Path

import numpy as np
import pytest
import torch
from analysis_streams import models, stream
from PIL import Image
from torch import nn
from toys import Photograph, made

import tent
from tent.analysis import capture, choose_layers, compare_features
from tent.analysis.features.capture import channel_means
from tent.analysis.features.channels import Alignment, Density, Moments, frechet_distance
from tent.analysis.features.image_pairs import are_pairs, find_mismatch, leave_out_broken_pairs
from tent.data.sets.folders import FolderImages
from tent.data.sets.images import Images

LAYERS = ["1", "6"]  # the batch norms of the toy net


def run(lean: bool, watched: bool) -> list[torch.Tensor]:
    net = made("conv")
    adapted, outputs = tent.adapt(net, lr=0.1, lean=lean), []
    for batch in stream(shift=0.5):
        if watched:
            with capture(net, ["0", *LAYERS, "10"]):
                outputs.append(adapted(batch.inputs))
        else:
            outputs.append(adapted(batch.inputs))
    return [*outputs, *(param.detach().clone() for param in adapted.state.params.values())]


@pytest.mark.parametrize("lean", [False, True])
def test_answers_and_updates_are_the_same_to_the_bit_while_features_are_captured(lean: bool) -> None:
    for seen, unseen in zip(run(lean, watched=True), run(lean, watched=False), strict=True):
        assert torch.equal(seen, unseen)


def test_a_capture_leaves_no_trace_on_the_model() -> None:
    net = made("conv")
    net[1].register_forward_hook(lambda module, inputs, output: None)  # the user's own stays
    before = Photograph(net)
    with capture(net, LAYERS):
        net(torch.randn(4, 3, 8, 8))
    before.check()


def test_a_capture_leaves_no_trace_after_an_exception() -> None:
    net = made("conv")
    before = Photograph(net)
    with pytest.raises(RuntimeError), capture(net, LAYERS):
        net(torch.randn(4, 2, 8, 8))
    before.check()


def test_a_wrong_layer_is_named_with_the_nearest_and_leaves_no_hook() -> None:
    net = made("residual")
    before = Photograph(net)
    with (
        pytest.raises(ValueError, match="layers: Residual has no layer 'bn3'; the nearest is 'bn2'"),
        capture(net, ["bn1", "bn3"]),
    ):
        pass
    before.check()


def test_captured_features_are_the_means_of_the_layer_s_channels() -> None:
    net, x = made("conv"), torch.randn(6, 3, 8, 8)
    with capture(net, ["1", "10"]) as found:
        output = net(x)
    assert np.allclose(found["1"], net[1](net[0](x)).double().mean((2, 3)).detach().numpy(), atol=1e-6)
    assert np.allclose(found["10"], output.detach().double().numpy())


def test_channels_of_tokens_are_their_last_axis() -> None:
    assert channel_means(torch.randn(4, 9, 5)).shape == (4, 5)
    assert channel_means(torch.randn(4, 5, 3, 3)).shape == (4, 5)


def test_layers_are_chosen_evenly_among_norms() -> None:
    net = nn.Sequential(*(nn.BatchNorm2d(3) for _ in range(9)), nn.Conv2d(3, 3, 1))
    assert choose_layers(net, 3) == ["0", "4", "8"]
    assert choose_layers(net, 20) == [str(i) for i in range(9)]
    with pytest.raises(ValueError, match="Sequential has no norm layer"):
        choose_layers(nn.Sequential(nn.Linear(3, 3)), 3)


def views(seed: int, images: int = 57, channels: int = 6) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.normal(size=(images, channels)) * np.arange(1, channels + 1) + 100


def test_moments_and_distance_are_those_of_a_plain_recomputation() -> None:
    one, other = views(0), views(1) * 1.5
    found = [Moments(), Moments()]
    for moments, features in zip(found, (one, other), strict=True):
        for part in np.array_split(features, 5):
            moments.add(part)
        assert np.allclose(moments.mean, features.mean(0), atol=1e-9)
        assert np.allclose(moments.deviation, features.std(0), atol=1e-9)
    unit = one.std(0)
    squares = ((one.mean(0) - other.mean(0)) ** 2 + (one.std(0) - other.std(0)) ** 2) / unit**2
    assert frechet_distance(*found, unit) == pytest.approx(np.sqrt(squares.mean()), abs=1e-9)
    assert frechet_distance(*found, np.zeros(6)) is None


def test_cka_is_that_of_a_plain_recomputation_with_gram_matrices() -> None:
    one, other = views(0), views(1)[:, :4] + views(0)[:, :4]
    found = Alignment()
    for part in np.array_split(np.arange(len(one)), 7):
        found.add(one[part], other[part])
    centre = np.eye(len(one)) - 1 / len(one)
    k, m = (centre @ (x @ x.T) @ centre for x in (one, other))
    assert found.compute() == pytest.approx((k * m).sum() / np.sqrt((k * k).sum() * (m * m).sum()), abs=1e-9)


def test_cka_is_one_up_to_rotation_and_scale_and_not_defined_for_constants() -> None:
    x = views(2)
    turned, flat = Alignment(), Alignment()
    turned.add(x, 3 * x @ np.linalg.qr(views(3, 6, 6))[0])
    flat.add(x, np.ones((len(x), 2)))
    assert turned.compute() == pytest.approx(1, abs=1e-9)
    assert flat.compute() is None
    assert Alignment().compute() is None


def test_a_density_leaves_channels_out_that_never_vary() -> None:
    clean, density = Moments(), Density()
    x = np.concatenate([views(0), np.ones((57, 1))], axis=1)
    clean.add(x)
    density.add(x, clean)
    assert density.shares.sum() == pytest.approx(1)


def test_features_are_compared_with_the_clean_ones_and_the_oracle_s() -> None:
    own = models()
    net = own["Source"].source
    before = Photograph(net)
    found = compare_features(net, own, stream(shift=1.0, name="shifted"), stream(), LAYERS, lr=0.1)
    before.check()
    rows = {(row["layer"], row["method"]): row for row in found.rows}
    assert list(rows) == [(layer, method) for layer in LAYERS for method in ("Source", "BN", "Tent", "Oracle")]
    for layer in LAYERS:
        assert rows[layer, "Oracle"]["distance to oracle"] is None
        assert 0 < rows[layer, "Tent"]["cka to oracle"] <= 1 + 1e-9
    clean = net[1](net[0](torch.cat([batch.inputs for batch in stream()]))).detach().double().mean((2, 3))
    channels = [row for row in found.tables["channels"] if (row["layer"], row["view"]) == ("1", "Clean")]
    assert [row["mean"] for row in channels] == pytest.approx(clean.mean(0).tolist(), abs=1e-6)
    shifted = torch.cat([bn(net, batch.inputs) for batch in stream(shift=1.0)]).double().mean((2, 3))
    squares = (shifted.mean(0) - clean.mean(0)) ** 2 + (shifted.std(0, False) - clean.std(0, False)) ** 2
    expected = (squares / clean.std(0, False) ** 2).mean().sqrt()
    assert rows["1", "BN"]["distance to clean"] == pytest.approx(float(expected), abs=1e-6)


def bn(net: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Return what the first norm makes of a batch by the batch's own statistics, in plain torch."""
    norm = net[1]  # type: ignore[index]
    x = net[0](x).detach()  # type: ignore[index]
    mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3), unbiased=False)
    shape = (1, -1, 1, 1)
    scaled = (x - mean.view(shape)) / (variance + norm.eps).sqrt().view(shape)
    return (scaled * norm.weight.view(shape) + norm.bias.view(shape)).detach()


def test_the_same_images_are_at_no_distance() -> None:
    own = {"Source": models()["Source"]}
    found = compare_features(own["Source"].source, own, stream(), stream(), 1)
    row = next(row for row in found.rows if row["method"] == "Source")
    assert row["distance to clean"] == pytest.approx(0, abs=1e-9)
    assert row["cka to clean"] == pytest.approx(1, abs=1e-9)


def test_without_labels_there_is_no_oracle_and_without_pairs_no_cka() -> None:
    own = {"Source": models()["Source"]}
    found = compare_features(own["Source"].source, own, stream(20, labelled=False), stream(30), LAYERS, paired=False)
    assert {row["method"] for row in found.rows} == {"Source"}
    assert all(row["cka to clean"] is None and row["distance to clean"] is not None for row in found.rows)
    with pytest.raises(ValueError, match="20 shifted images and 30 clean ones are no pairs"):
        compare_features(own["Source"].source, own, stream(20), stream(30), LAYERS)


def test_a_layer_without_images_or_that_is_not_run_is_said() -> None:
    class Idle(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net, self.idle = made("conv"), nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.net(x)  # type: ignore[no-any-return]

    net = Idle().eval()
    own = {"Source": tent.adapt(net, tent.Source(), lean=False)}
    with pytest.raises(ValueError, match=r"^features: layer 'idle' is not run when the model answers; name another$"):
        compare_features(net, own, stream(), stream(), ["idle"])


def test_images_of_which_no_pair_is_whole_are_refused(tmp_path: Path) -> None:
    sets = []
    for name, whole in (("dark", "a.png"), ("light", "b.png")):
        (tmp_path / name).mkdir()
        for file in ("a.png", "b.png"):
            (tmp_path / name / file).write_bytes(b"no image")
        Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(tmp_path / name / whole)
        sets.append(FolderImages(name, tmp_path / name, ["a.png", "b.png"], None, None))
        sets[-1].skips = True
    assert are_pairs(*sets)
    assert find_mismatch(*sets, related=False, claimed=False) is None
    with pytest.raises(ValueError, match="files are pairs by their names, so leave it out"):
        find_mismatch(*sets, related=False, claimed=True)
    with pytest.raises(ValueError, match="dark and light: of no pair of images can both be read; nothing to compare"):
        leave_out_broken_pairs(*sets, np.arange(2))


def test_labels_tell_pairs_only_of_sets_that_are_made_from_each_other() -> None:
    sets = [Images(name, np.arange(4), 4) for name in ("mine", "clean")]
    assert are_pairs(*sets, related=True)
    assert not are_pairs(*sets)
    sets[1].labels = None
    assert not are_pairs(*sets, related=True)
