"""Damaged weights and checkpoints: one line that names the file, whatever the damage."""

import io
import random
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save
from torch import nn

from tent.models.weight_files import NUMPY_STUBS, load_weights, read_weights
from tent.train.run_folder import read_checkpoint

STATE = {"a": torch.arange(4.0), "b": torch.ones(2, 2)}


def saved(value: object) -> bytes:
    out = io.BytesIO()
    torch.save(value, out)
    return out.getvalue()


@pytest.mark.filterwarnings("ignore")  # torch's thoughts on how a pickle was written
@pytest.mark.parametrize(
    ("name", "raw", "read"),
    [
        ("a.safetensors", save(STATE), read_weights),
        ("a.pt", saved(STATE), read_weights),
        ("checkpoint.pt", saved({"recipe": {"epochs": 1}, "state": STATE}), read_checkpoint),
    ],
)
def test_damage_is_a_value_error_that_names_the_file(tmp_path: Path, name, raw, read) -> None:
    draw = random.Random(7)
    path = tmp_path / name
    pickled = raw.find(b"data.pkl") + 8  # where damage does more than to break a sum
    for _ in range(300):
        bits = bytearray(raw)
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(pickled, min(pickled + 400, len(bits)))
            bits[at : at + draw.randint(1, 4)] = draw.choice([b"", draw.randbytes(1), bits[at : at + 5]])
        path.write_bytes(bits)
        said = ""
        try:
            read(path)
        except ValueError as error:
            said = str(error)
        assert not said or str(path) in said


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "module._orig_mod."])
def test_prefixes_of_wrappers_are_taken_off(prefix: str, tmp_path) -> None:
    net = nn.Linear(2, 3)
    torch.save({prefix + name: tensor for name, tensor in net.state_dict().items()}, tmp_path / "w.pt")
    other = nn.Linear(2, 3)
    load_weights(other, "net", tmp_path / "w.pt")
    assert torch.equal(other.weight, net.weight)


def test_a_part_that_is_called_module_keeps_its_name(tmp_path) -> None:
    net = nn.ModuleDict({"module": nn.Linear(2, 3), "head": nn.Linear(3, 2)})
    torch.save(net.state_dict(), tmp_path / "w.pt")
    load_weights(nn.ModuleDict({"module": nn.Linear(2, 3), "head": nn.Linear(3, 2)}), "net", tmp_path / "w.pt")


def test_other_sizes_inside_are_not_taken_for_other_classes(tmp_path) -> None:
    def net(width: int) -> nn.Module:
        return nn.Sequential(nn.Linear(2, width), nn.BatchNorm1d(width), nn.Linear(width, 3))

    torch.save(net(4).state_dict(), tmp_path / "w.pt")
    with pytest.raises(ValueError, match=r"0.weight is \(4, 2\) there, \(5, 2\) in the model$"):
        load_weights(net(5), "net", tmp_path / "w.pt")


@pytest.mark.parametrize("score", [np.float64(0.7), np.float32(0.7), np.int64(3)])
def test_numbers_of_numpys_beside_the_weights_are_passed_over(score: object, tmp_path: Path) -> None:
    """As the checkpoints of a training that notes its best score."""
    whole = {"epoch": 484, "best_mIoU": score, "state_dict": STATE, "optimizer": {"state": {}, "param_groups": []}}
    torch.save(whole, tmp_path / "checkpoint.pth.tar")
    found = read_weights(tmp_path / "checkpoint.pth.tar")
    assert all(torch.equal(found[name], tensor) for name, tensor in STATE.items())
    torch.save({"a": torch.ones(1), "b": score}, tmp_path / "mixed.pt")
    with pytest.raises(ValueError, match="not a state_dict of tensors"):
        read_weights(tmp_path / "mixed.pt")
    assert not set(torch.serialization.get_safe_globals()) & set(NUMPY_STUBS)  # allowed for this file alone


def test_numbers_of_an_older_numpy_are_passed_over(tmp_path: Path) -> None:
    raw = saved({"best_mIoU": np.float64(0.7), "state_dict": STATE})
    here, there = b"numpy._core.multiarray\nscalar", b"numpy.core.multiarray\nscalar"
    if here not in raw:
        pytest.skip("this numpy is as old")
    folder = tmp_path / "parts"
    zipfile.ZipFile(io.BytesIO(raw)).extractall(folder)
    pickled = next(folder.rglob("data.pkl"))
    pickled.write_bytes(pickled.read_bytes().replace(here, there))
    with zipfile.ZipFile(tmp_path / "old.pth", "w") as out:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                out.write(path, path.relative_to(folder))
    assert set(read_weights(tmp_path / "old.pth")) == set(STATE)


class Sneaky:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("ran",)


def test_nothing_else_of_numpys_is_let_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for value in (np.ones(3), Sneaky(), np.random.default_rng(0)):
        torch.save({"state_dict": STATE, "more": value}, tmp_path / "w.pt")
        with pytest.raises(ValueError, match="holds more than tensors, which is never run"):
            read_weights(tmp_path / "w.pt")
    assert capsys.readouterr().out == ""
