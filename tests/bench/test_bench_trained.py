"""Rows of models that are trained for them: shown with what they took, and waited for where they are not there."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny
from command import tent
from readings import TRAINING, fill, kept, result

from tent.bench.case import Case, Data
from tent.bench.execute.run_case import run_case
from tent.bench.read.compute import passes
from tent.bench.read.query import read_grid
from tent.bench.read.training import budget, short_budget
from tent.bench.render.table import Table, build_table
from tent.bench.result import Result
from tent.bench.schedule.board import Board
from tent.bench.schedule.plan import describe_untrained, make_plan
from tent.bench.schedule.workers import work
from tent.bench.store import Store
from tent.bench.suite import Cell, Suite
from tent.bench.suites import SUITES
from tent.models import RotationResNet, zoo
from tent.train import Recipe, train
from tent.train.baseline import make_objective, model_name

NAME = model_name("rg", "cifar10", "usps")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with a source and a target of small images."""
    monkeypatch.setenv("TENT_DATA", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    random = np.random.default_rng(0)
    for name, channels in (("cifar10", (3,)), ("usps", (3,))):
        (tmp_path / name).mkdir()
        for split, n in (("train", 24), ("test", 20)):
            np.save(tmp_path / name / f"{split}_images.npy", random.integers(0, 256, (n, 8, 8, *channels), np.uint8))
            np.save(tmp_path / name / f"{split}_labels.npy", np.arange(n) % 10)
    return tmp_path


def trained(data: Path) -> None:
    """Train RG on the two sets, for an epoch of two steps."""
    recipe = Recipe("r26", "cifar10", epochs=1, batch=8, crop=0, precision="float32", target="usps")
    train(recipe, data / "models" / NAME, objective=make_objective("rg"))


def suite() -> Suite:
    def cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
        case = Case("r26-cifar10", Data("usps"), "source", images=limit)
        rows = {"Source": case, "RG": replace(case, model=f"trained:{NAME}"), "Tent": replace(case, method="tent")}
        return [Cell(row, "USPS", replace(each, seed=seed)) for seed in seeds for row, each in rows.items()]

    return Suite("tiny", "A tiny suite", cells, ("Source", "RG", "Tent"), ("USPS",), "r26-cifar10")


def worked(data: Path) -> Board:
    board = Board(make_plan(suite(), (0,)), Store(data / "results"))
    work(board, lambda board, ended: None)
    return board


def shown(data: Path) -> Table:
    return build_table(read_grid(suite(), Store(data / "results").all()))


def test_a_row_whose_model_is_not_trained_waits_and_does_not_fail(data: Path) -> None:
    board = worked(data)
    assert (len(board.done), board.failed, board.total) == (2, [], 2)
    assert len(Store(data / "results").all()) == 2
    assert [(cell.row, cell.column) for cell in board.plan.untrained] == [("RG", "USPS")]
    made = shown(data)
    assert [line.fields[0].kind for line in made.lines] == ["ours", "missing", "ours"]
    trained(data)
    board = worked(data)
    assert (len(board.done), board.before, board.plan.untrained) == (1, 2, [])


def test_a_trained_row_carries_its_budget_in_its_note(data: Path) -> None:
    trained(data)
    worked(data)
    result = next(each for each in Store(data / "results").all() if each.training)
    assert result.training == zoo.load(f"trained:{NAME}").training
    assert result.training["method"] == "rg"
    assert result.protocol["training"] == budget(result.training)
    assert result.protocol["training"].startswith(
        "RG, cifar10 train (24 images with labels) and usps train (24 images without); 1 epoch from random weights; "
    )
    made = shown(data)
    assert [line.fields[0].notes for line in made.lines] == [(), (1,), ()]
    state = result.case.weights[:12]
    assert made.notes == (
        "RG: 1 epoch from random weights, on cifar10 train with labels and on its target without; trained once",
    )
    assert made.trainings == (f"trained:{NAME}, state {state}: {budget(result.training)}",)
    assert sum(NAME in line for line in made.details) == 1
    assert "unless a note names another" in " ".join(made.details)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"answers": "before"},
        {"steps": 2, "epochs": 2},
        {"when": "offline"},
        {"reset": "batch", "batch_size": 1, "images": 3, "options": {"copies": 4}, "stats": "source"},
    ],
)
def test_test_time_training_runs_and_takes_as_many_images_as_are_counted(
    data: Path, changes: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = Recipe("r26-rotation", "cifar10", epochs=1, batch=8, crop=0, precision="float32")
    train(recipe, data / "models" / model_name("ttt", "cifar10"), objective=make_objective("ttt"))
    case = replace(Case("trained:ttt-cifar10", Data("usps"), "ttt", answers="after", batch_size=10), **changes)
    seen: list[int] = []
    tiny.check_no_passes(monkeypatch)
    plain = RotationResNet.forward
    monkeypatch.setattr("tent.bench.execute.run_case._measure_peak", lambda *_: 0)  # which makes a step of its own
    monkeypatch.setattr(
        RotationResNet, "forward", lambda self, x, head="classes": (seen.append(len(x)), plain(self, x, head))[1]
    )
    result = run_case(case)
    assert result.training["method"] == "ttt"
    assert sum(seen) == passes(result).forward
    assert result.protocol["optimizer"] == "SGD"


def test_a_model_that_was_asked_for_has_to_be_there(data: Path) -> None:
    with pytest.raises(ValueError, match="trained:mine: there is no such training"):
        make_plan(suite().with_model("trained:mine"), (0,))
    trained(data)
    (data / "models" / NAME / "model.safetensors").write_bytes(b"half")
    board = worked(data)
    assert [(job.row, "not a whole file of weights" in why) for job, why in board.failed] == [("RG", True)]


def test_what_to_train_is_one_line() -> None:
    line = describe_untrained([cell for cell in SUITES["cifar10-c"].cells((0,), None) if "trained:" in cell.case.model])
    assert line.startswith(
        "38 cases wait for 9 trainings: RG, UDA-SS on gaussian noise, defocus blur, fog, jpeg compression; TTT, TTT off"
    )
    assert line.endswith(
        "such as: tent train --model r26 --method rg --source cifar10 --target cifar10-c:gaussian_noise:5:train"
        " --epochs 2 --lr 0.05 --start r26-cifar10"
    )
    assert "\n" not in line
    one = describe_untrained(
        [cell for cell in SUITES["digits"].cells((0,), None) if cell.case.model.endswith("rg-svhn-usps")]
    )
    assert one == (
        "1 case waits for 1 training: RG on USPS; train it with: "
        "tent train --model r26 --method rg --source svhn --target usps --size 32 --epochs 10 --lr 0.05 --crop 2"
        " --start r26-svhn"
    )


def test_the_command_says_what_to_train_and_ends_well(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SUITES, "tiny", suite())
    dry = tent(data, "bench", "tiny", "--dry-run")
    assert (dry.returncode, dry.stderr.count("\n")) == (0, 1)
    assert dry.stderr.startswith("tent: 1 case waits for 1 training: RG on USPS; train it with: tent train ")
    ran = tent(data, "bench", "tiny")
    assert ran.returncode == 0
    assert ran.stdout == "tiny: 2 of 2 cases done (0 before), in results\n"
    assert ran.stderr.splitlines()[-1] == dry.stderr.strip()


def test_results_without_a_training_are_written_as_they_always_were(tmp_path: Path) -> None:
    case = Case("m", Data("mnist"), "tent")
    plain, own = result(case, 0.5), result(replace(case, model="trained:x"), 0.5)
    assert "training" not in plain.to_json()
    assert Result.from_json(json.loads(json.dumps(plain.to_json()))) == plain
    assert kept(tmp_path, own).all() == [own]
    assert own.to_json()["training"] == TRAINING


def test_the_budget_in_words() -> None:
    assert budget(TRAINING) == (
        "RG, svhn train (73,257 images with labels) and mnist train (60,000 images without); 10 epochs from random "
        "weights; 3,600 s; 1,465,140 images forward and 1,465,140 backward"
    )
    alone = {name: value for name, value in TRAINING.items() if not name.startswith("target")}
    warm = {**alone, "method": "ttt", "epochs": 1, "start": "r26-cifar10, sha256 0123"}
    assert budget(warm).startswith(
        "TTT, svhn train (73,257 images with labels) and no target; 1 epoch from r26-cifar10, sha256 0123; "
    )


def test_a_start_that_another_model_has_since_replaced_is_an_earlier_one() -> None:
    shipped = hashlib.sha256((zoo.WEIGHTS / "r26-svhn.safetensors").read_bytes()).hexdigest()[:12]
    for sha256, name in ((shipped, "r26-svhn"), ("0123456789ab", "an earlier r26-svhn")):
        words = short_budget({**TRAINING, "start": f"r26-svhn, sha256 {sha256}"})
        assert f"epochs from {name}, on" in words
    assert "from model.safetensors, on" in short_budget({**TRAINING, "start": "model.safetensors, sha256 0123456789ab"})


def test_cells_of_other_budgets_have_notes_of_their_own_and_a_mean_has_all(tmp_path: Path) -> None:
    store = Store(tmp_path)
    fill(store, SUITES["cifar10-c"], (0,), lambda row, column, case: (0.25, 1.0))
    for each in store.all():
        if each.case.model.endswith("rg-cifar10-cifar10-c-fog-5-train"):
            store.put(replace(each, training={**TRAINING, "epochs": 1}))
    made = build_table(read_grid(SUITES["cifar10-c"], store.all()))
    columns = {line.head: line.fields[made.heads.index("RG")] for line in made.lines}
    fog, mean = columns["fog"], columns["mean of 4 types"]
    assert "RG: 1 epoch from random weights, on" in made.notes[fog.notes[0] - 1]
    assert "RG: 10 epochs from random weights, on" in made.notes[columns["gaussian noise"].notes[0] - 1]
    assert (columns["mean"].kind, columns["snow"].kind) == ("blank", "blank")
    assert len(mean.notes) == 2
    assert sum("; 1 epoch from random weights;" in training for training in made.trainings) == 1
    assert fog.notes[0] in mean.notes
    ttt = {line.fields[made.heads.index("TTT")].notes for line in made.lines if line.head != "the paper's mean"}
    assert len(ttt) == 1  # one training for all


def test_an_oracle_is_never_the_best(tmp_path: Path) -> None:
    store = Store(tmp_path)
    fill(store, SUITES["digits"], (0,), lambda row, column, case: (0.1 if "Oracle" in row else 0.25, 1.0))
    made = build_table(read_grid(SUITES["digits"], store.all()))
    bold = {line.head for line in made.lines if any(field.bold for field in line.fields)}
    assert not {"Oracle", "Oracle offline"} & bold
    assert {"Source", "RG", "Tent"} <= bold
