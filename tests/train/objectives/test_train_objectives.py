"""The baselines' objectives, step by step: which images go where, which gradient comes back, and what is kept."""

import io
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from two_domains import SIDE, Small, bars

from tent.train import RG, TTT, UDASS, Batch, CrossEntropy, Recipe
from tent.train.domains import normalisation, read_pixels
from tent.train.loop import Training
from tent.train.objectives.rg import reversal_weight
from tent.train.objectives.uda_ss import TASKS

SOURCE, TARGET = bars(96, 0, 30, (-20, 20), 1), bars(20, 1, 30, (0, 0), 1)  # a target smaller than a batch


def training(objective, seed=0, crop=2, flip=True, target=TARGET):
    recipe = Recipe("r26", "cifar10", epochs=2, seed=seed, batch=32, crop=crop, flip=flip, precision="float32")
    torch.manual_seed(seed)
    seen = target if objective.needs_target else None
    return Training(Small(), SOURCE, normalisation(SOURCE), recipe, objective, torch.device("cpu"), seen)


def bits(run):
    states = (run.model.state_dict(), run.objective.state_dict())
    return [tensor.detach().numpy().tobytes() for state in states for tensor in state.values()]


def batch(progress=0.5, n=8):
    random = torch.Generator().manual_seed(1)
    inputs, target = torch.randn(n, 3, SIDE, SIDE, generator=random), torch.randn(n, 3, SIDE, SIDE, generator=random)
    return Batch(inputs, torch.arange(n) % 2, progress, random, target)


class Spy(Small):
    """Notes everything that passes."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def features(self, x):
        self.seen.append(x)
        return super().features(x)


@pytest.mark.parametrize("make", [RG, UDASS, TTT])
def test_a_run_goes_on_to_the_same_bits_from_any_step(make):
    whole, kept = training(make()), []
    while whole.step < whole.steps:
        torch.save(whole.state(), file := io.BytesIO())
        kept.append(file)
        whole.advance()
    assert len(kept) == 6
    for file in kept:
        file.seek(0)
        again = training(make())
        again.restore(torch.load(file, weights_only=True))
        while again.step < again.steps:
            again.advance()
        assert bits(again) == bits(whole)


@pytest.mark.parametrize("make", [RG, UDASS])
def test_heads_depend_on_the_seed_of_the_run_alone(make):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    first, second, other = (list(training(make(), seed).objective.parameters()) for seed in (0, 0, 1))
    assert all(torch.equal(*pair) for pair in zip(first, second, strict=True))
    assert not any(torch.equal(*pair) for pair in zip(first, other, strict=True))
    torch.manual_seed(3)
    objective = make()
    assert list(objective.parameters()) == []
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("make", [CrossEntropy, RG, UDASS, TTT, *(partial(UDASS, [task]) for task in TASKS)])
def test_the_cost_on_record_is_what_passes_through_the_network(make):
    model, objective = Spy(), make()
    objective.start(model)
    objective(model, batch(n=8))
    assert sum(x[:, 0].numel() for x in model.seen) / (8 * SIDE * SIDE) == objective.cost


@pytest.mark.parametrize("make", [RG, UDASS])
def test_the_source_part_of_a_batch_is_what_it_is_without_a_target(make):
    plain, with_target = training(CrossEntropy()), training(make())
    for step in range(plain.steps):
        plain.step = with_target.step = step
        one, two = plain.batch(), with_target.batch()
        assert torch.equal(one.inputs, two.inputs)
        assert torch.equal(one.labels, two.labels)
        assert torch.equal(one.random.get_state(), two.random.get_state())
        assert one.target is None
        assert two.target.shape == two.inputs.shape


def test_a_target_is_gone_through_in_passes_and_normalised_as_the_source_is():
    run = training(RG(), crop=0, flip=False)
    seen = []
    known = run.preprocess(read_pixels(TARGET, np.arange(20)))
    for step in range(run.steps):
        run.step = step
        seen += [[torch.equal(image, other) for other in known].index(True) for image in run.batch().target]
    assert len(seen) == 6 * 32
    assert [sorted(seen[first : first + 20]) for first in range(0, 180, 20)] == [list(range(20))] * 9
    assert seen[:20] != seen[20:40]


def test_the_targets_labels_are_never_asked_for(monkeypatch):
    secret = bars(40, 2, 30, (0, 0), 1)
    monkeypatch.setattr(secret, "targets", lambda indices: pytest.fail("a label of the target was read"))
    monkeypatch.setattr(secret, "labels", None)
    for make in (RG, UDASS):
        run = training(make(), target=secret)
        run.advance()


@pytest.mark.parametrize("progress", [0.0, 0.1, 1.0])
def test_features_get_the_gradient_of_the_labels_less_the_weighted_one_of_the_domains(progress):
    torch.manual_seed(0)
    model, objective, seen = Small(), RG(), batch(progress)
    objective.start(model)
    loss, logits = objective(model, seen)
    got = torch.autograd.grad(loss, [*model.body.parameters(), *objective.parameters()])

    features = model.features(torch.cat([seen.inputs, seen.target]))
    labels = F.cross_entropy(model.fc(features[:8]), seen.labels)
    score = objective.domain(features).squeeze(1)
    domains = F.binary_cross_entropy(score.sigmoid(), torch.tensor([0.0] * 8 + [1.0] * 8))  # target is 1
    body, heads = list(model.body.parameters()), list(objective.parameters())
    toward = torch.autograd.grad(labels, body, retain_graph=True)
    away = torch.autograd.grad(domains, body, retain_graph=True)
    weight = reversal_weight(progress)
    due = [one - weight * two for one, two in zip(toward, away, strict=True)]
    due += torch.autograd.grad(domains, heads)  # the classifier itself learns to tell, with the full gradient
    torch.testing.assert_close(loss, labels + domains)
    torch.testing.assert_close(logits, model.fc(features[:8]))
    torch.testing.assert_close(got, tuple(due), rtol=1e-4, atol=1e-6)


def test_each_task_sees_its_half_of_source_and_target():
    torch.manual_seed(0)
    model, objective, seen = Spy(), UDASS(), batch()
    objective.start(model)
    objective(model, seen)
    quarters, whole = model.seen
    assert quarters.shape == (8, 3, SIDE // 2, SIDE // 2)
    assert torch.equal(whole[:8], seen.inputs)
    halves = torch.cat([seen.inputs[:4], seen.target[:4]]), torch.cat([seen.inputs[4:], seen.target[4:]])
    for image, turned in zip(halves[0], whole[8:], strict=True):
        assert any(torch.equal(image.rot90(turn, (1, 2)), turned) for turn in range(4))
    half = SIDE // 2
    for image, quarter in zip(halves[1], quarters, strict=True):
        corners = [image[:, y : y + half, x : x + half] for y in (0, half) for x in (0, half)]
        assert any(torch.equal(corner, quarter) for corner in corners)


def test_three_losses_are_summed_and_labels_are_those_of_the_pixels():
    torch.manual_seed(0)
    model, objective, seen = Spy(), UDASS(), batch()
    objective.start(model)
    loss, logits = objective(model, seen)
    quarters, whole = (Small.features(model, x) for x in list(model.seen))
    inputs = model.seen
    turns = [
        next(turn for turn in range(4) if torch.equal(image.rot90(turn, (1, 2)), turned))
        for image, turned in zip(torch.cat([seen.inputs[:4], seen.target[:4]]), inputs[1][8:], strict=True)
    ]
    half = SIDE // 2
    places = [
        next(p for p in range(4) if torch.equal(image[:, p // 2 * half :, p % 2 * half :][:, :half, :half], quarter))
        for image, quarter in zip(torch.cat([seen.inputs[4:], seen.target[4:]]), inputs[0], strict=True)
    ]
    due = F.cross_entropy(logits, seen.labels) + F.cross_entropy(objective.rotation(whole[8:]), torch.tensor(turns))
    due = due + F.cross_entropy(objective.place(quarters), torch.tensor(places))
    torch.testing.assert_close(loss, due)


def test_quarters_leave_the_running_averages_alone():
    torch.manual_seed(0)
    model, objective, seen = Spy(), UDASS(), batch()
    alone = Small()
    alone.load_state_dict(model.state_dict())
    objective.start(model)
    objective(model, seen)
    alone.features(model.seen[1])  # whole images
    for one, two in zip(model.buffers(), alone.buffers(), strict=True):
        torch.testing.assert_close(one, two)
    assert all(norm.track_running_stats for norm in model.modules() if isinstance(norm, nn.BatchNorm2d))


def test_the_rotation_branch_learns_from_the_images_that_the_classifier_sees():
    torch.manual_seed(0)
    model, seen = Spy(), batch()
    loss, logits = TTT()(model, seen)
    turned, upright = model.seen
    assert torch.equal(upright, seen.inputs)
    found = [
        next(turn for turn in range(4) if torch.equal(image.rot90(turn, (1, 2)), other))
        for image, other in zip(seen.inputs, turned, strict=True)
    ]
    assert len(set(found)) > 1
    rotation = model.rotation(Small.features(model, turned))
    torch.testing.assert_close(
        loss, F.cross_entropy(logits, seen.labels) + F.cross_entropy(rotation, torch.tensor(found))
    )


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (RG, "rg needs a network that has `features`"),
        (UDASS, "uda-ss needs a network"),
        (TTT, "ttt needs a network with a rotation branch; choose r26-rotation"),
    ],
)
def test_a_network_without_what_it_takes_is_refused(make, line):
    with pytest.raises(ValueError, match=line):
        make().start(nn.Sequential(nn.Flatten(), nn.Linear(3, 2)))


def test_what_cannot_be_turned_cut_or_shared_is_refused():
    model, objective, seen = Small(), UDASS(), batch()
    objective.start(model)
    with pytest.raises(ValueError, match="only square ones"):
        TTT()(model, Batch(seen.inputs[..., :8], seen.labels, 0.5, seen.random))
    with pytest.raises(ValueError, match="even height and width"):
        objective(model, Batch(seen.inputs[..., :5, :5], seen.labels, 0.5, seen.random, seen.target[..., :5, :5]))
    with pytest.raises(ValueError, match="a batch of 1: uda-ss shares it between two tasks"):
        objective(model, Batch(seen.inputs[:1], seen.labels[:1], 0.5, seen.random, seen.target[:1]))
    with pytest.raises(ValueError, match="uda-ss learns from a target too"):
        objective(model, Batch(seen.inputs, seen.labels, 0.5, seen.random))


@pytest.mark.parametrize("task", TASKS)
def test_one_task_alone_has_one_head_and_a_run_of_its_own(task):
    run, both = training(UDASS([task])), training(UDASS())
    assert len(list(run.objective.parameters())) == 2
    assert (repr(run.objective), repr(both.objective)) == (f"UDASS(tasks=('{task}',))", "UDASS()")
    for each in (run, both):
        each.advance()  # at a rate of nothing, which a schedule begins with
        each.advance()
    assert bits(run)[: len(run.model.state_dict())] != bits(both)[: len(run.model.state_dict())]


@pytest.mark.parametrize("tasks", [[], "rotation", ["flip"]])
def test_tasks_that_are_none_are_refused(tasks):
    with pytest.raises(ValueError, match="give one or both of rotation, position"):
        UDASS(tasks)


def test_only_the_tasks_that_are_learnt_ask_for_a_shape():
    UDASS(["rotation"]).check_size(7, 7)
    UDASS(["position"]).check_size(8, 6)
    for tasks, shape in ((["rotation"], (8, 6)), (["position"], (7, 7))):
        with pytest.raises(ValueError, match="must be square and of an even side"):
            UDASS(tasks).check_size(*shape)
