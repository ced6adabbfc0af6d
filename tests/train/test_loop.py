"""The loop: the same seed gives the same bits, and a run goes on to the same bits from any step."""

import io
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tent.models import r26
from tent.train.domains import load_labelled, normalisation
from tent.train.loop import Training
from tent.train.objectives import Batch, CrossEntropy, Objective
from tent.train.recipe import Recipe


def training(root: Path, seed: int = 0, objective: Objective | None = None, **choices: object) -> Training:
    data = load_labelled("cifar10", "train", root)
    recipe = Recipe("r26", "cifar10", seed=seed, batch=32, **{"epochs": 2, "precision": "float32", **choices})
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Dropout(0.1), r26())  # dropout: a draw of the global generator
    return Training(model, data, normalisation(data), recipe, objective or CrossEntropy(), torch.device("cpu"))


def advanced(run: Training, steps: int) -> Training:
    for _ in range(steps):
        run.advance()
    return run


def bits(run: Training) -> list[bytes]:
    state = {**run.model.state_dict(), **{f"objective.{k}": v for k, v in run.objective.state_dict().items()}}
    return [tensor.detach().numpy().tobytes() for tensor in state.values()]


class Rotations(Objective):
    """Cross-entropy and a head of its own that tells turned images from upright ones."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.head = nn.Linear(64, 2)

    def forward(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        turned = torch.rand(len(batch.labels), generator=batch.random) < 0.5
        x = torch.where(turned[:, None, None, None], batch.inputs.rot90(1, (2, 3)), batch.inputs)
        logits = model(batch.inputs)
        auxiliary = nn.functional.cross_entropy(self.head(model[1].features(x)), turned.long())
        return nn.functional.cross_entropy(logits, batch.labels) + batch.progress * auxiliary, logits


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_same_seed_gives_the_same_bits_and_another_seed_others(root, precision):
    first, second, other = (advanced(training(root, seed, precision=precision), 4) for seed in (0, 0, 1))
    assert bits(first) == bits(second)
    assert bits(first) != bits(other)


@pytest.mark.parametrize(("make", "optimizer"), [(CrossEntropy, "sgd"), (Rotations, "sgd"), (CrossEntropy, "adamw")])
def test_a_run_goes_on_to_the_same_bits_from_any_step(root, make, optimizer):
    whole = training(root, objective=make(), optimizer=optimizer)
    assert whole.steps == 6
    kept = []
    for _ in range(whole.steps):
        file = io.BytesIO()
        torch.save(whole.state(), file)
        kept.append(file)
        whole.advance()
    for step, file in enumerate(kept):
        file.seek(0)
        again = training(root, objective=make(), optimizer=optimizer)
        torch.rand(step + 1)  # the global generator is elsewhere
        again.restore(torch.load(file, weights_only=True))
        advanced(again, again.steps - again.step)
        assert bits(again) == bits(whole)
        assert torch.equal(again.sums, whole.sums)


def test_an_objective_of_its_own_trains_its_head_along(root):
    objective = Rotations()
    before = objective.head.weight.detach().clone()
    run = advanced(training(root, objective=objective), 3)
    assert not torch.equal(objective.head.weight, before)
    assert "head.weight" in run.state()["objective"]


def test_a_run_may_end_inside_an_epoch(root):
    run = training(root, epochs=1.4)
    assert run.steps == 4  # an epoch has three
    advanced(run, run.steps)
    assert [epoch["epoch"] for epoch in run.curve] == [1]
    assert run.epoch()["epoch"] == 2


def test_an_epoch_sees_every_image_once_and_in_another_order_than_the_next(root):
    run = training(root)
    seen = []
    fetch = run.data.fetch
    run.data.fetch = lambda indices: seen.extend(indices) or fetch(indices)
    for step in range(run.steps):
        run.step = step
        run.batch()
    epochs = [seen[:96], seen[96:]]
    assert [sorted(epoch) for epoch in epochs] == [list(range(96))] * 2
    assert epochs[0] != epochs[1]


@pytest.mark.parametrize("choice", [{"scales": (0.5, 1.5)}, {"colors": True}])
def test_scales_and_colors_change_every_image_and_a_step_draws_the_same_again(root, choice):
    plain, changed = training(root, crop=0, flip=False), training(root, crop=0, flip=False, **choice)
    seen, other = plain.batch(), changed.batch()
    assert torch.equal(seen.labels, other.labels)
    assert (seen.inputs != other.inputs).flatten(1).any(1).all()
    assert torch.equal(other.inputs, changed.batch().inputs)


def test_decay_is_on_kernels_and_matrices_alone(root):
    decayed, plain = training(root).optimizer.param_groups
    assert (decayed["weight_decay"], plain["weight_decay"]) == (5e-4, 0)
    assert {p.ndim for p in decayed["params"]} == {2, 4}
    assert {p.ndim for p in plain["params"]} == {1}


def test_a_loss_that_is_not_finite_ends_the_run_before_it_spoils_the_weights(root):
    run = training(root)
    before = bits(run)

    class Broken(Objective):
        def forward(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
            logits = torch.zeros(len(batch.labels), 10)
            return torch.tensor(float("nan")), logits

    run.objective = Broken()
    with pytest.raises(ValueError, match=r"loss is nan at step 0; train with a lower lr than 0.15"):
        run.advance()
    assert bits(run) == before


def test_normalisation_is_that_of_the_training_images(root):
    data = load_labelled("cifar10", "train", root)
    pixels = np.asarray(data.fetch(np.arange(len(data)))) / 255
    preprocess = normalisation(data)
    np.testing.assert_allclose(preprocess.mean, pixels.mean((0, 1, 2)), atol=1e-6)
    np.testing.assert_allclose(preprocess.std, pixels.std((0, 1, 2)), atol=1e-6)
    x = preprocess(data.fetch(np.arange(len(data))))
    assert x.shape == (96, 3, 8, 8)
    assert abs(x.mean()) < 1e-4
    assert abs(x.std() - 1) < 1e-3
