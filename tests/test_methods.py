from functools import partial

import pytest
import torch
from settings import SETTINGS
from toys import batches, logits, made

import tent


def test_every_method_is_held_to_the_contract() -> None:
    held = {type(setting.method) for setting in SETTINGS if not setting.name.startswith("own-")}
    assert held == set(tent.METHODS.values())


def test_pl_learns_from_confident_predictions_alone() -> None:
    adapted = tent.adapt(made("conv"), tent.PL(threshold=1.0))
    adapted(batches(1)[0])
    assert adapted.updates == 0
    assert adapted.state.loss is None
    assert all(torch.equal(p, adapted.source.state_dict()[name]) for name, p in adapted.named_parameters())


def test_tent_lowers_the_entropy() -> None:
    adapted = tent.adapt(made("conv"), lr=5e-2)
    x = batches(1, size=32)[0]
    losses = []
    for _ in range(20):
        adapted(x)
        losses.append(adapted.state.loss)
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
        select = tent.select.last_layer

        def loss(self, seen, state):  # type: ignore[no-untyped-def]
            assert seen.features.shape == (6, 8)
            state.tensors["count"] = state.tensors.get("count", torch.zeros(())) + 1
            return -seen.logits.amax(1).mean()

    adapted = tent.adapt(made("conv"), Sharpen())
    adapted(batches(1)[0])
    assert adapted.state.tensors == {"count": torch.tensor(1.0)}
    assert [name for name, _ in adapted.named_parameters()] == ["10.weight", "10.bias"]


def test_a_step_of_several_passes_is_undone_whole_when_it_fails() -> None:
    class TwoPasses(tent.Tent):
        def step(self, seen, state):  # type: ignore[no-untyped-def]
            super().step(seen, state)
            state.tensors["steps"] = torch.ones(())
            again = state.forward(*seen.inputs[0])
            state.backward(again.logits.sum() * float("nan"))

    adapted = tent.adapt(made("conv"), TwoPasses())
    before = adapted.state_dict()
    with pytest.warns(RuntimeWarning, match="not finite"):
        adapted(batches(1)[0])
    assert all(torch.equal(before[name], tensor) for name, tensor in adapted.state_dict().items())
    assert adapted.state.tensors == {}
    assert not adapted.state.optimizer.state_dict()["state"]


def test_a_method_may_look_at_inputs_of_its_own_beside_the_batch() -> None:
    class Consistent(tent.Tent):
        def loss(self, seen, state):  # type: ignore[no-untyped-def]
            mirrored = state.forward(seen.inputs[0][0].flip(3)).logits
            return (seen.logits - mirrored).square().mean()

    model, x = made("conv"), batches(1)[0]
    adapted = tent.adapt(model, Consistent(), lr=0.05)
    assert torch.equal(logits(adapted(x)), logits(tent.adapt(model, tent.BN())(x)))
    first = adapted.state.loss
    for _ in range(20):
        adapted(x)
    assert adapted.state.loss < first / 2


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


OWN = """
from dataclasses import dataclass

import tent


@dataclass(frozen=True, repr=False)
class Sharpen(tent.Method):
    power: float = 1.0
    select = tent.select.last_layer

    def loss(self, seen, state):
        return -self.power * seen.logits.softmax(1).amax(1).mean()
"""


def test_a_method_in_a_file_is_found_by_its_path(tmp_path) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    found = tent.methods.find(f"{tmp_path / 'mine.py'}:Sharpen")
    adapted = tent.adapt(made("conv"), found(power=2.0))
    adapted(batches(1)[0])
    assert adapted.updates == 1
    assert repr(adapted.method) == "Sharpen(power=2.0)"
    assert tent.methods.find("tent") is tent.Tent


@pytest.mark.parametrize(
    ("text", "name", "error", "message"),
    [
        (None, "mine.py:Sharpen", FileNotFoundError, "there is no such file"),
        (OWN, "mine.py:Blunt", ValueError, "'Blunt' is not a subclass of tent.Method"),
        (OWN, "mine.py:tent", ValueError, "not a subclass"),
        ("1 / 0", "mine.py:Sharpen", ImportError, "ZeroDivisionError: division by zero"),
        (OWN, "sharpen", ValueError, r"no method 'sharpen'; there are bn, .*, tent, ttt, and your own"),
    ],
)
def test_a_method_that_cannot_be_found_is_one_clear_line(
    tmp_path, monkeypatch, text: str | None, name: str, error: type[Exception], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / "mine.py").write_text(text)
    with pytest.raises(error, match=message) as caught:
        tent.methods.find(name)
    assert "\n" not in str(caught.value)


def test_choices_of_a_class_are_not_bound_like_methods() -> None:
    class Own(tent.Tent):
        select = tent.select.last_layer
        optimizer = partial(torch.optim.SGD, lr=0.5)

    class Nameless(Own):
        select = lambda model: tent.select.last_layer(model)  # noqa: E731

    class Method(Own):
        def select(self, model):  # type: ignore[no-untyped-def]
            return tent.select.last_layer(model)

    for other in (Nameless(), Method()):
        assert len(list(tent.adapt(made("conv"), other).parameters())) == 2
    adapted = tent.adapt(made("conv"), Own())
    assert [name for name, _ in adapted.named_parameters()] == ["10.weight", "10.bias"]
    assert adapted.state.optimizer.param_groups[0]["lr"] == 0.5


def test_a_method_with_views_is_told_how_inputs_are_normalised_unless_it_knows() -> None:
    told = tent.methods.with_pixels(tent.CoTTA(views=3), (0.5, 0.5, 0.5), (0.2, 0.2, 0.2))
    assert told == tent.CoTTA(views=3, pixels=tent.Pixels((0.5, 0.5, 0.5), (0.2, 0.2, 0.2)))
    assert tent.methods.with_pixels(told, (0.1,), (0.1,)) is told
    for method in (tent.Tent(), tent.BN(), tent.CoTTA()):
        assert tent.methods.with_pixels(method, None, None) is method
    assert tent.methods.with_pixels(tent.Tent(), (0.5,), (0.2,)) == tent.Tent()
