import pytest
import torch
from settings import SETTINGS
from toys import batches, logits, made

import tent


def test_every_method_is_held_to_the_contract() -> None:
    held = {type(setting.method) for setting in SETTINGS}
    assert held == set(tent.METHODS.values())


def test_pl_learns_from_confident_predictions_alone() -> None:
    adapted = tent.adapt(made("conv"), tent.PL(threshold=1.0))
    adapted(batches(1)[0])
    assert adapted.updates == 0
    assert adapted.loss is None
    assert all(torch.equal(p, adapted.source.state_dict()[name]) for name, p in adapted.named_parameters())


def test_tent_lowers_the_entropy() -> None:
    adapted = tent.adapt(made("conv"), lr=5e-2)
    x = batches(1, size=32)[0]
    losses = []
    for _ in range(20):
        adapted(x)
        losses.append(adapted.loss)
    assert losses[-1] < losses[0] * 0.9


def test_information_maximisation_keeps_the_predictions_diverse() -> None:
    def diversity(method: tent.Method) -> float:
        adapted = tent.adapt(made("conv"), method, lr=0.05)
        x = batches(1, size=64)[0]
        for _ in range(60):
            adapted(x)
        mean = logits(adapted(x)).softmax(1).mean(0)
        return float(-(mean * mean.log()).sum())

    assert diversity(tent.Tent(objective=tent.losses.information_maximisation)) > diversity(tent.Tent()) + 0.1


def test_a_method_of_ones_own_takes_a_few_lines() -> None:
    class Sharpen(tent.Method):
        select = staticmethod(tent.select.last_layer)

        def loss(self, seen, run):  # type: ignore[no-untyped-def]
            assert seen.features.shape == (6, 8)
            run.memory["count"] = run.memory.get("count", 0) + 1
            return -seen.logits.amax(1).mean()

    adapted = tent.adapt(made("conv"), Sharpen())
    adapted(batches(1)[0])
    assert adapted.engine.state.memory == {"count": 1}
    assert [name for name, _ in adapted.named_parameters()] == ["10.weight", "10.bias"]


def test_a_step_of_several_passes_is_undone_whole_when_it_fails() -> None:
    class TwoPasses(tent.Tent):
        def step(self, seen, run, optimizer):  # type: ignore[no-untyped-def]
            super().step(seen, run, optimizer)
            run.memory["steps"] = 1
            again = run.again()
            run.backward(again.logits.sum() * float("nan"))

    adapted = tent.adapt(made("conv"), TwoPasses())
    before = adapted.state_dict()
    with pytest.warns(RuntimeWarning, match="not finite"):
        adapted(batches(1)[0])
    assert all(torch.equal(before[name], tensor) for name, tensor in adapted.state_dict().items())
    assert adapted.engine.state.memory == {}
    assert not adapted.engine.optimizer.state_dict()["state"]


def test_a_method_may_look_at_inputs_of_its_own_beside_the_batch() -> None:
    class Consistent(tent.Tent):
        def loss(self, seen, run):  # type: ignore[no-untyped-def]
            mirrored = run.look(seen.inputs[0][0].flip(3)).logits
            return (seen.logits - mirrored).square().mean()

    model, x = made("conv"), batches(1)[0]
    adapted = tent.adapt(model, Consistent(), lr=0.05)
    assert torch.equal(logits(adapted(x)), logits(tent.adapt(model, tent.BN())(x)))
    first = adapted.loss
    for _ in range(20):
        adapted(x)
    assert adapted.loss < first / 2


def test_a_method_says_whether_it_answers_before_or_after_and_the_caller_has_the_last_word() -> None:
    class After(tent.Tent):
        answers = "after"

    model, x = made("conv"), batches(1)[0]
    before, after = (tent.adapt(model, tent.Tent(), lr=0.1, answers=when)(x) for when in ("before", "after"))
    assert torch.equal(tent.adapt(model, After(), lr=0.1)(x), after)
    assert torch.equal(tent.adapt(model, After(), lr=0.1, answers="before")(x), before)
    assert torch.equal(tent.adapt(model, After(), lr=0.1, episodic=True)(x), after)


def test_the_methods_say_what_they_are() -> None:
    assert repr(tent.Tent()) == "Tent(objective=entropy)"
    assert repr(tent.PL(0.5)) == "PL(threshold=0.5)"
    with pytest.raises(ValueError, match="threshold must be in"):
        tent.PL(threshold=3)
