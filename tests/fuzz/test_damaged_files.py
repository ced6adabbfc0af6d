"""Damaged files of our own: each is refused in a line that names it, or what it says is what was written."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from damage import DAMAGES, damaged
from safetensors.torch import load_file
from toys import alike, batches, made

import tent
from tent.bench.case import Case, Data
from tent.bench.result import Result
from tent.bench.store import Store
from tent.models.cards import build_from_card
from tent.train import Recipe, train
from tent.train.run_folder import read_run


def refusal(read: Callable[[], object]) -> str | None:
    """Return what a command would say in one line of a file that cannot be read, None if it can."""
    try:
        read()
    except (ValueError, OSError) as error:
        said = str(error)
    else:
        return None
    assert "\n" not in said
    return said


def test_a_damaged_delta_is_refused_or_its_tensors_are_whole(tmp_path: Path) -> None:
    adapted, fresh = (tent.adapt(made("conv"), lr=0.01, stats=tent.norm.Running(0.3)) for _ in range(2))
    for x in batches(2):
        adapted(x)
    adapted.delta().save(path := tmp_path / "delta.safetensors")
    untouched = tent.adapt(made("conv"), lr=0.01, stats=tent.norm.Running(0.3))
    for raw in damaged(path.read_bytes()):
        (broken := tmp_path / "broken.safetensors").write_bytes(raw)
        said = refusal(partial(fresh.load_delta, broken))
        if said is None:
            assert alike(fresh, adapted)
            fresh.reset()
        else:
            assert "broken.safetensors" in said or "another model" in said
            assert alike(fresh, untouched)


def test_a_damaged_result_is_one_line_or_a_result_of_the_same_case(tmp_path: Path) -> None:
    case = Case("m", Data("mnist"), "tent", lr=1e-3, options={"on": ["a", "b"]})
    numbers = {"error": 0.25}, {"error": [0.5, 0.0]}, 2.0, 4.0, 100, 8
    lines: list[str] = []
    store = Store(tmp_path / "results", lines.append)
    store.put(Result(case, *numbers, {"order": "as [stored]"}, finished="now"))
    for raw in damaged(store.path(case).read_bytes()):
        lines.clear()
        store.path(case).write_bytes(raw)
        found = store.all()
        assert [result.case for result in found] == ([] if lines else [case])
        assert len(lines) < 2
        assert all(store.path(case).name in line and "\n" not in line for line in lines)
        if found:
            json.dumps(found[0].to_json(), allow_nan=True)


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("data")
    (root / "cifar10").mkdir()
    for split in ("train", "test"):
        np.save(root / "cifar10" / f"{split}_images.npy", np.zeros((10, 8, 8, 3), np.uint8))
        np.save(root / "cifar10" / f"{split}_labels.npy", np.arange(10))
    train(Recipe("r26", "cifar10", epochs=1, batch=10, crop=0, precision="float32"), root / "run", root=root)
    return root / "run"


def test_a_damaged_card_is_refused_or_describes_a_model_with_its_own_weights(training: Path, tmp_path: Path) -> None:
    weights, card = shutil.copy(training / "model.safetensors", tmp_path), tmp_path / "card.json"
    whole = load_file(weights)

    def compare() -> None:
        own = build_from_card("mine", card, Path(weights), "trained").model.state_dict()
        assert all(torch.equal(whole[name], tensor) for name, tensor in own.items())

    for raw in [*damaged((training / "card.json").read_bytes())][: DAMAGES // 6]:  # each that is read makes a network
        card.write_bytes(raw)
        said = refusal(compare)
        assert said is None or str(tmp_path) in said
        said = refusal(lambda: read_run(tmp_path))
        assert said is None or str(card) in said
