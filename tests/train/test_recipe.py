"""Recipes: bad values are refused by name, and a recipe knows its command line."""

from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from tent.cli.app import app
from tent.train import Objective, Recipe
from tent.train.baseline import choose_network
from tent.train.recipe import SCHEDULES, best_precision, cosine, may_flip, one_cycle


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"batch": -1},
        {"lr": 0.0},
        {"lr": float("nan")},
        {"seed": -1},
        {"seed": 2**63},
        {"momentum": 1.0},
        {"weight_decay": -1e-4},
        {"crop": -1},
        {"size": 0},
        {"size": -32},
        {"size": 1024},
        {"rise": 1.0},
        {"hold": -0.1},
        {"schedule": "stairs"},
        {"optimizer": "lion"},
        {"precision": "float16"},
        {"mean": 0.5},
        {"std": 0.5},
        {"mean": 2.0, "std": 0.5},
        {"mean": -0.1, "std": 0.5},
    ],
    ids=str,
)
def test_a_bad_value_is_refused_by_name(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}.*{next(iter(wrong.values()))}"):
        Recipe("r26", "cifar10", **wrong)


@pytest.mark.parametrize(
    ("own", "method", "target"),
    [
        ({}, "source", ""),
        ({"size": 32}, "source", ""),
        ({"optimizer": "adamw", "weight_decay": 0.05}, "source", ""),
        ({"epochs": 0.5}, "source", ""),
        ({"size": 32, "mean": 0.5, "std": 0.5}, "rg", "mnist"),
        ({"scales": (0.6, 1.2), "colors": True}, "source", ""),
        ({}, "ttt", ""),
    ],
)
def test_the_command_of_a_recipe_leads_back_to_it(monkeypatch, tmp_path, own, method, target):
    choices = {"epochs": 3, "seed": 4, "lr": 0.05, "schedule": "cosine", "flip": False, "precision": "float32", **own}
    recipe = Recipe(choose_network(method, "r26"), "cifar10", **choices, target=target)
    got = []

    def train(recipe: Recipe, out: object, objective: Objective, **_: object) -> dict[str, object]:
        got.append((recipe, objective.method))
        return {"test_error": 0.1, "test_set": "cifar10 test", "seconds": 1.0}

    monkeypatch.setattr("tent.cli.train.train", train)
    words = recipe.command(method).replace("FOLDER", str(tmp_path)).split()
    assert CliRunner().invoke(app, words[1:]).exit_code == 0
    assert got == [(recipe, method)]


def test_a_target_is_written_only_where_there_is_one():
    plain, targeted = Recipe("r26", "svhn"), Recipe("r26", "svhn", target="mnist")
    assert targeted.to_dict() == {**plain.to_dict(), "target": "mnist"}
    assert "target" not in plain.to_dict()
    assert "--target" not in plain.command()
    assert " --target mnist " in targeted.command("rg")


def test_a_size_is_written_only_where_there_is_one():
    plain, sized = Recipe("r26", "mnist"), Recipe("r26", "mnist", size=32)
    assert sized.to_dict() == {**plain.to_dict(), "size": 32}
    assert [Recipe(**each.to_dict()) for each in (plain, sized)] == [plain, sized]
    assert "size" not in plain.to_dict()
    assert "--size" not in plain.command()
    assert " --size 32 " in sized.command()


def test_a_mean_and_deviation_are_written_only_where_they_are_chosen():
    plain, chosen = Recipe("r26", "mnist"), Recipe("r26", "mnist", mean=0.5, std=0.5)
    assert chosen.to_dict() == {**plain.to_dict(), "mean": 0.5, "std": 0.5}
    assert " --mean 0.5 --std 0.5 " in chosen.command()
    assert "--mean" not in plain.command()


@pytest.mark.parametrize("wrong", [{"std": 0.0}, {"std": float("nan")}, {"mean": float("nan")}], ids=str)
def test_a_deviation_of_nothing_is_refused(wrong):
    with pytest.raises(ValueError, match="give a mean from 0 to 1 and a deviation above 0, or neither"):
        Recipe("r26", "cifar10", **{"mean": 0.5, "std": 0.5, **wrong})


@pytest.mark.parametrize(
    ("model", "choices"), [("hrnet-w18-small-v1", {"size": (32, 32), "scales": (1.0, 1.0)}), ("timm:resnet18", {})]
)
def test_a_mean_is_not_for_networks_with_their_own(model, choices):
    with pytest.raises(ValueError, match=f"{model} is normalised by ImageNet's or its own"):
        Recipe(model, "cifar10", **choices, mean=0.5, std=0.5)


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_a_schedule_reaches_its_peak_and_ends_at_nothing(schedule):
    rates = [schedule(step, 1000, 0.2, 0.1) for step in range(1001)]
    assert max(rates) == 1
    assert rates[-1] == pytest.approx(0)
    assert min(rates) >= 0


def test_one_cycle_rises_holds_and_falls_in_straight_lines():
    rates = [one_cycle(step, 1000, 0.2, 0.3) for step in (0, 100, 200, 499, 500, 750, 999)]
    assert rates == [0, 0.5, 1, 1, 1, 0.5, 0.002]
    assert one_cycle(3, 10, 0, 0) == 0.7


def test_before_the_fall_a_rate_does_not_depend_on_the_length_of_the_run():
    assert [one_cycle(step, 1000, 0.1, 0.5) for step in range(600)] == [
        one_cycle(s, 1200, 1 / 12, 0.5) for s in range(600)
    ]


def test_cosine_starts_at_its_peak():
    assert [cosine(step, 100, 0.2, 0) for step in (0, 50)] == [1, pytest.approx(0.5)]


def test_digits_are_not_mirrored_however_their_set_is_spelt():
    assert [may_flip(name) for name in ("cifar10", "svhn", "mnist-m", "mnist_m")] == [True, False, False, False]


FLAGS = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")  # of torch.cpu


@pytest.mark.parametrize("name", FLAGS)
def test_bfloat16_is_best_where_torch_says_that_the_processor_multiplies_in_it(monkeypatch, name):
    monkeypatch.setattr("tent.train.recipe.CPUINFO", Path("/nowhere"))
    for each in FLAGS:
        monkeypatch.setattr(torch.cpu, each, lambda yes=each == name: yes, raising=False)
    assert best_precision(torch.device("cpu")) == "bfloat16"


@pytest.mark.parametrize(
    ("line", "best"),
    [
        ("flags\t\t: fpu avx512f avx512_bf16", "bfloat16"),
        ("flags\t\t: fpu avx512f amx_bf16 amx_tile", "bfloat16"),
        ("Features\t: fp asimd bf16", "bfloat16"),
        ("flags\t\t: fpu avx512f avx512_vnni", "float32"),  # torch supports bfloat16 here, and is slower in it
        ("model name\t: bf16", "float32"),
    ],
)
def test_without_torchs_private_names_the_processors_own_flags_tell(monkeypatch, tmp_path, line, best):
    for name in FLAGS:
        monkeypatch.delattr(torch.cpu, name, raising=False)
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\n{line}\n\nprocessor\t: 1\n")
    monkeypatch.setattr("tent.train.recipe.CPUINFO", tmp_path / "cpuinfo")
    assert best_precision(torch.device("cpu")) == best


def test_a_processor_that_says_nothing_is_trained_on_in_float32(monkeypatch):
    for name in FLAGS:
        monkeypatch.delattr(torch.cpu, name, raising=False)
    monkeypatch.setattr("tent.train.recipe.CPUINFO", Path("/nowhere"))
    assert best_precision(torch.device("cpu")) == "float32"
