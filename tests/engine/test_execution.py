"""How passes are run: never another answer than torch's own, whatever a model does to its tensors."""

import copy
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import tent
from tent.engine.execution import Execution
from tent.lean import pointwise

Body = Callable[[Tensor], Tensor]


class Between(nn.Module):
    """A net that does something to its images between a norm and a classifier."""

    def __init__(self, body: Body) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.norm, self.body = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), body
        self.last, self.fc = nn.Conv2d(4, 4, 1), nn.Linear(4 * 36, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(torch.flatten(self.last(self.body(self.norm(self.conv(x)))), 1))


def copied(x: Tensor) -> Tensor:
    y = x.permute(0, 2, 3, 1).contiguous()
    y += 1.5
    return x * y.permute(0, 3, 1, 2)


def viewed(x: Tensor) -> Tensor:
    x = x * 1
    v = x.reshape(len(x), -1)
    v[:, ::3] = 0
    return x


def flattened(x: Tensor) -> Tensor:
    x = x * 1
    x.flatten(1).mul_(torch.linspace(0, 1, 144))
    return x


def written_before(x: Tensor) -> Tensor:
    x = x * 1
    v = x.reshape(len(x), -1)
    x.mul_(3)
    return x + v.sum(1)[:, None, None, None]


def caught(x: Tensor) -> Tensor:
    try:
        return x.view(len(x), -1).view_as(x) * 2
    except RuntimeError:
        return x


def paired(x: Tensor) -> Tensor:
    return torch.view_as_real(torch.view_as_complex(x.reshape(len(x), 4, 18, 2))).view(len(x), 4, 6, 6)


def asked(x: Tensor) -> Tensor:
    return x if x.is_contiguous() else x * 2


def strided(x: Tensor) -> Tensor:
    return x.as_strided((len(x), 4, 6, 6), (144, 36, 6, 1)) * 1


ALIASES = [copied, viewed, flattened, written_before, caught, asked, paired]


def trained(model: nn.Module, x: Tensor, **options: Any) -> tuple[tent.Adapted, list[Tensor]]:
    adapted = tent.adapt(model, **options)
    answers = [adapted(x) for _ in range(3)]
    return adapted, [*answers, *(p.detach() for p in adapted.parameters())]


@pytest.mark.parametrize("method", [tent.Tent(), tent.Source()], ids=["tent", "source"])
@pytest.mark.parametrize("body", ALIASES, ids=lambda body: body.__name__)
def test_a_model_that_writes_where_layout_decides_is_run_in_its_own(body: Body, method: tent.Method) -> None:
    model, x = Between(body).double().eval(), torch.randn(6, 3, 8, 8, dtype=torch.float64)
    ours, found = trained(model, x, method=method)
    _, expected = trained(model, x, method=method, lean=False)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)
    assert not ours.state.setup.execution.images_last
    assert ours.state.setup.execution.buffers is not None


def test_a_model_that_reads_its_memory_is_found_by_its_answers() -> None:
    model, x = Between(strided).double().eval(), torch.randn(6, 3, 8, 8, dtype=torch.float64)
    with pytest.warns(RuntimeWarning, match="channels-last images are off for this model"):
        ours, found = trained(model, x)
    for one, other in zip(found, trained(model, x, lean=False)[1], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)
    assert not ours.state.setup.execution.images_last


def test_the_same_writes_where_nothing_depends_on_them_cost_nothing() -> None:
    model = Between(lambda x: torch.relu_(x).reshape(x.shape).add(1).mul_(2)).eval()
    adapted, _ = trained(model, torch.randn(6, 3, 8, 8))
    assert adapted.state.setup.execution.images_last


def test_a_function_that_is_wrong_here_is_found_and_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = pointwise.RELU._replace(value=lambda x, out: torch.clamp_min(x, 0.5, out=out))
    monkeypatch.setattr(pointwise, "RELU", wrong)
    model, x = Between(nn.ReLU()).eval(), torch.randn(6, 3, 8, 8)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ours, found = trained(model, x)
    assert [str(w.message).split(" off ")[0] for w in said] == [
        "tent: channels-last images are",
        "tent: the lean path is",
    ]
    assert ours.state.setup.execution.buffers is None
    for one, other in zip(found, trained(model, x, lean=False)[1], strict=True):
        assert torch.allclose(one, other, atol=1e-5)


def test_a_function_that_fails_here_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(x: Tensor, out: Tensor) -> Tensor:
        raise RuntimeError("no such kernel")

    monkeypatch.setattr(pointwise, "RELU", pointwise.RELU._replace(value=fail))
    with pytest.warns(RuntimeWarning, match="the lean path is off for this model, since it raises no such kernel"):
        tent.adapt(Between(nn.ReLU()).eval())(torch.randn(6, 3, 8, 8))


def test_a_pass_is_gone_before_the_next_one_is_made() -> None:
    passes, alive = list[weakref.ref[tent.ForwardPass]](), list[bool]()

    class Watched(tent.Tent):
        def step(self, seen: tent.ForwardPass, state: tent.State) -> None:
            alive.extend(each() is not None for each in passes)
            passes.append(weakref.ref(seen))
            super().step(seen, state)

    tent.adapt(Between(nn.ReLU()).eval(), Watched(), steps=3, answers="after")(torch.randn(6, 3, 8, 8))
    assert (len(passes), alive) == (3, [False] * 3)


def test_inexact_sums_of_torch_do_not_turn_the_lean_path_off() -> None:
    model = nn.Sequential(nn.BatchNorm2d(3), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(12, 5)).eval()
    torch.manual_seed(0)
    x = (100 + torch.rand(16, 3, 128, 128)).to(memory_format=torch.channels_last)  # far from zero, and many
    due = tent.adapt(copy.deepcopy(model).double(), tent.BN(), lean=False)(x.double().contiguous())
    adapted = tent.adapt(model.to(memory_format=torch.channels_last), tent.BN())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = adapted(x)
    assert adapted.state.setup.execution.buffers is not None
    assert torch.allclose(found.double(), due, atol=1e-3)


def test_draws_are_those_of_one_pass() -> None:
    model, x = Between(lambda x: x + torch.rand(1, 4, 1, 1)).eval(), torch.randn(6, 3, 8, 8)
    found = []
    for lean in (True, False):
        torch.manual_seed(3)
        found.append((tent.adapt(model, lean=lean)(x), torch.rand(3)))
    assert torch.allclose(found[0][0], found[1][0], atol=1e-5)
    assert torch.equal(found[0][1], found[1][1])


def test_a_batch_that_is_not_finite_decides_nothing() -> None:
    adapted = tent.adapt(Between(nn.ReLU()).eval())
    with pytest.warns(RuntimeWarning, match="NaN or Inf"):
        adapted(torch.full((6, 3, 8, 8), torch.nan))
    assert not adapted.state.setup.execution.checked
    adapted(torch.randn(6, 3, 8, 8))
    assert adapted.state.setup.execution.checked


class Doubled(torch.autograd.Function):
    """A function whose gradient asks for the usual layout."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad.view(-1).mul(2).view_as(grad)


@pytest.mark.parametrize("first", ["online", "paused"])
def test_gradients_of_the_models_own_find_their_own_layout(first: str) -> None:
    model, x = Between(Doubled.apply).double().eval(), torch.randn(6, 3, 8, 8, dtype=torch.float64)
    adapted = tent.adapt(model)
    if first == "paused":
        with adapted.paused():
            adapted(x)
    found = [*(adapted(x) for _ in range(3)), *(p.detach() for p in adapted.parameters())]
    for one, other in zip(found, trained(model, x, lean=False)[1], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


class Passes:
    """A model's pass that fails as it is told to."""

    def __init__(self, *errors: Exception | None) -> None:
        self.errors = list(errors)
        self.layouts: list[bool] = []

    def __call__(self, execution: Execution, inputs: Any) -> tuple[Any, None]:
        self.layouts.append(execution.images_last)
        error = self.errors.pop(0)
        if error is not None:
            raise error
        return inputs, None


def test_an_error_that_the_own_layout_does_not_have_turns_the_other_off_whatever_it_says() -> None:
    execution, inputs = Execution(images_last=True), ((torch.ones(2),), {})
    passes = Passes(None, None, RuntimeError("in words of some other version"), None, None)
    for _ in range(3):
        execution.run(passes, inputs)
    assert passes.layouts == [False, True, True, False, False]  # the first two are the check


def test_an_error_that_both_layouts_have_is_the_models_own() -> None:
    execution, inputs = Execution(images_last=True), ((torch.ones(2),), {})
    passes = Passes(None, None, RuntimeError("the first"), RuntimeError("the second"))
    execution.run(passes, inputs)
    with pytest.raises(RuntimeError, match="the second"):
        execution.run(passes, inputs)
    assert execution.images_last


def test_every_kind_of_call_is_checked_once() -> None:
    execution, x = Execution(images_last=True), torch.ones(2)
    calls = [((x,), {}), ((x,), {"head": "rotation"}), ((x,), {"head": "classes"}), ((x[None],), {})]
    passes = Passes(*[None] * 12)
    for inputs in (*calls, *calls):
        execution.run(passes, inputs)
    with torch.no_grad():
        execution.run(Passes(None), calls[0])
    assert not passes.errors


class Residual(nn.Module):
    """A block of a transformer that writes to what its frozen linear layer has read."""

    def __init__(self, forward: Callable[["Residual", Tensor], Tensor]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.kept = nn.Linear(8, 32)  # the first of the wide ones, which is not recomputed
        self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 32), nn.Linear(32, 8)
        self.mix, self.fc, self.run = nn.Linear(8, 8), nn.Linear(8, 5), forward

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.run(self, self.mix(self.norm(x))))


def changed_before(self: Residual, h: Tensor) -> Tensor:
    a = self.up(h)
    h += 1.5
    return self.down(nn.functional.gelu(a)) + h


def changed_after(self: Residual, h: Tensor) -> Tensor:
    h += self.down(nn.functional.gelu(self.up(h)))
    return h


@pytest.mark.parametrize("forward", [changed_before, changed_after], ids=lambda forward: forward.__name__)
def test_what_was_written_to_is_not_recomputed_from(forward: Any) -> None:
    model, x = Residual(forward).double().eval(), torch.randn(6, 8, dtype=torch.float64)
    found, expected = trained(model, x)[1], trained(model, x, lean=False)[1]
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def test_an_answer_may_be_resized() -> None:
    model = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU()).eval()
    answer = tent.adapt(model, logits=lambda y: y.mean((2, 3)))(torch.randn(8, 3, 64, 64))
    assert answer.resize_(2).shape == (2,)


def test_another_default_device_changes_nothing() -> None:
    model, x = Between(nn.ReLU()).eval(), torch.randn(6, 3, 8, 8)
    expected = tent.adapt(model)(x)
    with torch.device("meta"):
        assert torch.equal(tent.adapt(model, optimizer=torch.optim.SGD, lr=0.1)(x), expected)
