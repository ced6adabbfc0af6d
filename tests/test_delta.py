import pickle

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn
from toys import batches, logits, made

import tent
from tent import Delta, norm
from tent.engine.source_model import fingerprint


@pytest.fixture
def adapted() -> tent.Adapted:
    adapted = tent.adapt(made("conv"), lr=0.01)
    for x in batches(3):
        adapted(x)
    return adapted


def test_a_delta_is_a_small_part_of_a_state_dict(adapted: tent.Adapted, tmp_path) -> None:
    delta = adapted.delta()
    delta.save(tmp_path / "delta.safetensors")
    tensors = load_file(tmp_path / "delta.safetensors")
    assert set(tensors) == {"1.weight", "1.bias", "6.weight", "6.bias"}
    plain = made("conv")
    plain.load_state_dict(tensors, strict=False)
    assert torch.equal(plain[1].weight, dict(adapted.named_parameters())["1.weight"])
    with safe_open(tmp_path / "delta.safetensors", "pt") as file:
        assert file.metadata()["method"] == "Tent(objective=entropy)"
    assert [path.name for path in tmp_path.iterdir()] == ["delta.safetensors"]


def test_a_delta_is_a_copy(adapted: tent.Adapted) -> None:
    delta = adapted.delta()
    kept = {name: tensor.clone() for name, tensor in delta.tensors.items()}
    adapted(batches(1)[0])
    assert all(torch.equal(kept[name], tensor) for name, tensor in delta.tensors.items())


def test_loading_starts_from_the_delta_and_resets_to_the_source(adapted: tent.Adapted) -> None:
    delta = adapted.delta()
    adapted.reset()
    source = adapted.source.state_dict()
    assert all(torch.equal(p, source[name]) for name, p in adapted.named_parameters())
    adapted.load_delta(delta)
    assert all(torch.equal(p, delta.tensors[name]) for name, p in adapted.named_parameters())
    adapted.load_delta(Delta({}, delta.source))
    assert all(torch.equal(p, source[name]) for name, p in adapted.named_parameters())


def test_deltas_are_swapped_between_streams(adapted: tent.Adapted) -> None:
    x, mine = batches(4)[3], adapted.delta()
    with adapted.paused():
        expected = logits(adapted(x))
    adapted.reset()
    adapted(batches(1, seed=9)[0])
    theirs = adapted.delta()
    adapted.load_delta(mine)
    with adapted.paused():
        assert torch.equal(logits(adapted(x)), expected)
    adapted.load_delta(theirs)
    with adapted.paused():
        assert not torch.equal(logits(adapted(x)), expected)


class Evil:
    def __reduce__(self):  # type: ignore[no-untyped-def]
        return (pytest.fail, ("a pickle was run",))


def truncated(path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def foreign(path) -> None:
    save_file({"1.weight": torch.ones(8)}, path)


def pickled(path) -> None:
    path.write_bytes(pickle.dumps(Evil()))


def torch_saved(path) -> None:
    torch.save({"1.weight": torch.ones(8)}, path)


def emptied(path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("spoil", [truncated, foreign, pickled, torch_saved, emptied])
def test_a_broken_or_foreign_file_is_refused_and_changes_nothing(adapted: tent.Adapted, tmp_path, spoil) -> None:
    path = tmp_path / "delta.safetensors"
    adapted.delta().save(path)
    before = adapted.state_dict()
    spoil(path)
    with pytest.raises(ValueError, match=r"delta\.safetensors: "):
        adapted.load_delta(path)
    assert all(torch.equal(before[name], tensor) for name, tensor in adapted.state_dict().items())


def test_a_missing_file_is_said(adapted: tent.Adapted, tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match="no such delta"):
        adapted.load_delta(tmp_path / "none")


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"1.weight": torch.ones(7)}, r"1.weight has shape \(7,\), not \(8,\)"),
        ({"10.weight": torch.ones(5, 8)}, "10.weight is not what this adaptation moves"),
        (
            {"1.running_mean": torch.ones(8), "1.running_var": torch.ones(8)},
            "saved with another method, select or stats",
        ),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(adapted: tent.Adapted, tensors, message: str) -> None:
    before = adapted.state_dict()
    good = {"1.bias": torch.zeros(8)}
    with pytest.raises(ValueError, match=message):
        adapted.load_delta(Delta(good | tensors, fingerprint(adapted.source)))
    assert all(torch.equal(before[name], tensor) for name, tensor in adapted.state_dict().items())


def test_a_mean_needs_its_variance(adapted: tent.Adapted) -> None:
    running = tent.adapt(adapted.source, tent.BN(), stats=norm.Running())
    with pytest.raises(ValueError, match="without its running_var"):
        running.load_state_dict({"1.running_mean": torch.ones(8)})


def test_a_delta_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="not finite"):
        Delta({"w": torch.tensor([torch.nan])}, "x")


def test_a_failed_write_leaves_the_old_file(adapted: tent.Adapted, tmp_path, monkeypatch) -> None:
    path = tmp_path / "d.safetensors"
    adapted.delta().save(path)
    whole = path.read_bytes()

    def fail(*args: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("tent.files.os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        adapted.delta().save(path)
    assert path.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [path]


def test_the_fingerprint_sees_every_value_and_is_computed_once() -> None:
    net = made("conv")
    adapted = tent.adapt(net)
    first = adapted.state.setup.source.fingerprint()
    assert first == fingerprint(net) == adapted.state.setup.source.fingerprint()
    net[1].running_mean[3] += 1e-6
    assert adapted.state.setup.source.fingerprint() == fingerprint(net) != first
    assert fingerprint(made("conv")) == first
    assert fingerprint(nn.Linear(2, 2)) != first


def test_state_is_small() -> None:
    import timm

    net = timm.create_model("resnet50")
    adapted = tent.adapt(net)
    adapted(torch.randn(4, 3, 64, 64))
    own = [*adapted.parameters()]
    for state in adapted.state.optimizer.state_dict()["state"].values():
        own += [value for value in state.values() if isinstance(value, torch.Tensor)]
    size = sum(t.numel() * t.element_size() for t in own)
    assert size < 0.03 * sum(t.numel() * t.element_size() for t in net.state_dict().values())


@pytest.mark.parametrize(
    ("mean", "var", "message"),
    [
        (torch.ones(7), torch.ones(7), r"running_mean is float32 of shape \(7,\), not float of shape \(8,\)"),
        (torch.ones(8), torch.ones(8, dtype=torch.int64), "running_var is int64"),
        (torch.ones(8), -torch.ones(8), "running_var is negative"),
    ],
)
def test_statistics_that_do_not_fit_are_refused_and_change_nothing(mean, var, message: str) -> None:
    adapted = tent.adapt(made("conv"), tent.BN(), stats=norm.Running())
    adapted(batches(1)[0])
    before = adapted.state_dict()
    with pytest.raises(ValueError, match=message):
        adapted.load_state_dict({"1.running_mean": mean, "1.running_var": var})
    assert all(torch.equal(before[name], tensor) for name, tensor in adapted.state_dict().items())


def test_strict_decides_about_names_that_are_not_ours(adapted: tent.Adapted) -> None:
    tensors = {**adapted.state_dict(), "10.weight": torch.ones(5, 8)}
    del tensors["1.bias"]
    with pytest.raises(ValueError, match=r"10.weight is not what this adaptation moves"):
        adapted.load_state_dict(tensors)
    keys = adapted.load_state_dict(tensors, strict=False)
    assert (keys.missing_keys, keys.unexpected_keys) == (["1.bias"], ["10.weight"])


def test_every_flipped_bit_is_noticed(adapted: tent.Adapted, tmp_path) -> None:
    path = tmp_path / "delta.safetensors"
    adapted.delta().save(path)
    whole = path.read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little")
    for place in range(start, len(whole), 7):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << (place % 8)
        path.write_bytes(bytes(damaged))
        with pytest.raises(ValueError, match=r"checksum|not finite"):
            adapted.load_delta(path)


def test_the_same_delta_is_the_same_bytes(adapted: tent.Adapted, tmp_path) -> None:
    for name in ("a", "b"):
        delta = adapted.delta()
        Delta(dict(reversed(list(delta.tensors.items()))), delta.source, delta.about).save(tmp_path / name)
    adapted.delta().save(tmp_path / "c")
    assert len({(tmp_path / name).read_bytes() for name in "abc"}) == 1


def test_weights_that_change_behind_torchs_back_are_noticed(adapted: tent.Adapted) -> None:
    delta = adapted.delta()
    adapted.source[0].weight.data.mul_(2)
    with pytest.raises(ValueError, match="another model"):
        adapted.load_delta(delta)
