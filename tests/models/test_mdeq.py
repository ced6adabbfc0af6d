"""MDEQ: the published sizes, an equilibrium that is one, its implicit gradient, and Tent as on a plain copy."""

import copy
import sys
import warnings
from collections.abc import Iterable

import pytest
import torch
from torch import Tensor, nn

import tent
from tent.models.architectures.equilibrium import Solver, equilibrium, jacobian_size
from tent.models.architectures.mdeq import MDEQ, Step, mdeq, mdeq_tiny

EXACT = Solver("broyden", 1e-12, 60)


def tiny(solver: Solver = EXACT, dropout: float = 0.0) -> MDEQ:
    torch.manual_seed(0)
    own = {"forward_solver": solver, "backward_solver": solver, "training_solvers": (solver, solver)}
    model = MDEQ((16, 16), (2, 2), 6, 5, dropout=dropout, **own)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.running_mean, std=0.1)
    return model.double().eval()


def images(n: int = 4) -> Tensor:
    return torch.randn(n, 3, 8, 8, generator=torch.Generator().manual_seed(1)).double()


def entropy(logits: Tensor) -> Tensor:
    return -(logits.softmax(1) * logits.log_softmax(1)).sum(1).mean()


def norms(model: MDEQ) -> dict[str, nn.Parameter]:
    selected = set(tent.select.norm_affine(model))
    return {name: p for name, p in model.named_parameters() if name in selected}


def test_the_published_sizes() -> None:
    assert [sum(p.numel() for p in model.parameters()) for model in (mdeq(100), mdeq_tiny(10))] == [11_248_728, 158_890]


def test_scales_and_shifts_of_batch_and_group_norms_adapt_but_not_the_lengths_of_kernels() -> None:
    names = norms(tiny())
    assert {"stem.1.weight", "cell.blocks.0.norm1.weight", "cell.fuse.0.bridges.1.1.bias", "last.1.bias"} <= set(names)
    assert not [name for name in names if "length" in name or "direction" in name]


@pytest.mark.parametrize("name", ["broyden", "anderson"])
def test_in_eval_mode_the_residual_is_below_the_tolerance(name: str) -> None:
    x = images()
    for tolerance in (1e-3, 1e-6):
        assert tiny(Solver(name, tolerance, 40)).residual(x).max() < tolerance


def test_the_networks_of_the_papers_size_begin_at_an_equilibrium() -> None:
    torch.manual_seed(0)
    model, x = mdeq_tiny().eval(), torch.randn(2, 3, 16, 16)
    assert model.residual(x).max() < model.forward_solver.tolerance


@pytest.mark.parametrize("part", ["cell.blocks", "cell.fuse", "stem", "down"])
def test_the_implicit_gradient_in_eval_mode_is_that_of_finite_differences(part: str) -> None:
    model, x, step = tiny(), images(), 1e-6
    params = [p for name, p in norms(model).items() if name.startswith(part)]
    ways = [torch.randn_like(p) for p in params]
    slopes = torch.autograd.grad(entropy(model(x)), params)
    slope = sum((own * way).sum() for own, way in zip(slopes, ways, strict=True))
    values = []
    with torch.no_grad():
        for moved in (step, -2 * step):  # to one side, and from there to the other
            for p, way in zip(params, ways, strict=True):
                p += moved * way
            values.append(entropy(model(x)))
    torch.testing.assert_close(slope, (values[0] - values[1]) / (2 * step), rtol=1e-5, atol=1e-9)


def test_the_gradient_of_a_linear_map_is_the_exact_one() -> None:
    a = (0.3 * torch.randn(4, 4) / 2).double().requires_grad_()
    b = torch.randn(2, 4).double()
    equilibrium(lambda z: z @ a + b, torch.zeros(2, 4).double(), EXACT, EXACT).square().sum().backward()
    expected = torch.autograd.grad((b @ torch.linalg.inv(torch.eye(4).double() - a)).square().sum(), a)[0]
    torch.testing.assert_close(a.grad, expected)


@pytest.mark.parametrize("times", [1.0, 1e-4, 1e-8])
def test_the_default_solver_finds_the_gradient_of_a_linear_map_however_small_the_loss_is(times: float) -> None:
    draw = torch.Generator().manual_seed(0)
    a = torch.randn(64, 64, generator=draw)
    a = (a + a.T) / 2
    a = 0.9 * a / torch.linalg.eigvalsh(a).abs().max()
    b = torch.randn(4, 64, generator=draw).requires_grad_()
    way = torch.randn(4, 64, generator=draw)
    way[-1] = 0  # an image without a gradient
    (times * way * equilibrium(lambda z: z @ a + b, torch.zeros(4, 64), Solver(), Solver())).sum().backward()
    expected = way @ torch.linalg.inv(torch.eye(64) - a).T
    assert b.grad is not None
    torch.testing.assert_close(b.grad / times, expected, rtol=0, atol=5e-3)


@pytest.mark.parametrize("times", [1.0, 1e-4])
def test_the_default_solvers_gradient_is_that_of_finite_differences(times: float) -> None:
    model, exact, x, step = tiny(Solver()), tiny(), images(), 1e-6
    name = "cell.fuse.0.bridges.1.1.weight"
    slope = torch.autograd.grad(times * entropy(model(x)), norms(model)[name])[0] / times
    weight, values = norms(exact)[name], []
    way = slope / slope.norm()
    with torch.no_grad():
        for moved in (step, -2 * step):
            weight += moved * way
            values.append(entropy(exact(x)))
    torch.testing.assert_close(slope.norm(), (values[0] - values[1]) / (2 * step), rtol=1e-2, atol=0)


def test_a_search_that_ends_above_the_tolerance_is_said_once_and_its_residual_is_kept() -> None:
    model, x = tiny(Solver("anderson", 1e-9, 4)), images()
    assert model.last_residual is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.train()(x)  # training is not stopped to be told so
        model.eval()(x[:0])
    with pytest.warns(UserWarning, match=r"a residual of .* after 4 steps, above the tolerance of 1e-09; .*more steps"):
        model(x)
    assert model.last_residual is not None
    assert model.last_residual > 1e-9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model(x)
        fine = tiny(Solver("anderson", 1e-3, 40))
        fine(x)
    assert fine.last_residual is not None
    assert fine.last_residual < 1e-3
    assert tent.adapt(fine).last_residual == fine.last_residual


def test_under_autocast_the_tolerance_is_reached_and_the_gradient_stays() -> None:
    model, x = tiny(Solver("anderson", 1e-5, 40)).float(), images().float()
    params = list(norms(model).values())
    expected = torch.autograd.grad(entropy(model(x)), params)
    with torch.autocast("cpu", torch.bfloat16):
        loss = entropy(model(x).float())
        assert model.residual(x).max() < 1e-5
    assert model.last_residual is not None
    assert model.last_residual < 1e-5
    found = torch.autograd.grad(loss, params)
    far = torch.cat([(a - b).flatten() for a, b in zip(found, expected, strict=True)]).norm()
    assert far < 0.1 * torch.cat([own.flatten() for own in expected]).norm()


@pytest.mark.parametrize("lean", [True, False])
def test_tent_moves_it_as_it_would_a_plain_copy_and_leaves_the_source_alone(lean: bool) -> None:
    model, x = tiny(), images()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    plain = copy.deepcopy(model).requires_grad_(False)
    for module in plain.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean = module.running_var = None
    params = {name: p.requires_grad_() for name, p in norms(plain).items()}
    optimizer, adapted = sgd(params.values()), tent.adapt(model, optimizer=sgd, lean=lean)
    for _ in range(2):  # the second batch is answered, and its gradient taken, at other parameters than the source's
        logits = plain(x)
        optimizer.zero_grad()
        entropy(logits).backward()
        optimizer.step()
        torch.testing.assert_close(adapted(x), logits.detach(), rtol=1e-9, atol=1e-9)
    assert any((p - before[name]).abs().max() > 1e-2 for name, p in params.items() if name.startswith("cell."))
    for name, value in adapted.state.params.items():
        torch.testing.assert_close(value.detach(), params[name].detach(), rtol=1e-9, atol=1e-9)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def sgd(params: Iterable[Tensor]) -> torch.optim.Optimizer:
    return torch.optim.SGD(params, lr=5.0)


def test_dropout_is_drawn_once_a_pass_and_in_train_mode_alone() -> None:
    model, x = tiny(Solver("anderson", 1e-6, 40), dropout=0.5), images()
    with torch.no_grad():
        assert torch.equal(model(x), model(x))
        assert not torch.equal(model.train()(x), model(x))
        assert model.residual(x).max() < 1e-6  # one mask for all steps, or there would be no equilibrium


@pytest.mark.parametrize("backward", [Solver("anderson", 1e-6, 40), None])
def test_every_parameter_gets_a_gradient_in_train_mode(backward: Solver | None) -> None:
    model = tiny(Solver("anderson", 1e-6, 40)).train()
    model.training_solvers = model.forward_solver, backward
    entropy(model(images())).backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


def test_without_a_backward_solver_the_gradient_is_that_of_one_more_run() -> None:
    weight, b = torch.tensor(0.5).double().requires_grad_(), torch.ones(1, 1).double()
    z = equilibrium(lambda z: weight * z + b, torch.zeros(1, 1).double(), EXACT, None)
    assert z.item() == pytest.approx(2.0)
    assert torch.autograd.grad(z.sum(), weight)[0].item() == pytest.approx(2.0)  # the whole gradient would be 4


def test_the_size_of_a_jacobian_is_estimated_without_bias_and_can_be_lowered() -> None:
    torch.manual_seed(0)
    a = torch.randn(8, 8).double().requires_grad_()
    found = torch.stack([jacobian_size(lambda z: z @ a, torch.randn(50, 8).double()) for _ in range(20)]).mean()
    assert found.item() == pytest.approx(a.square().sum().item() / 8, rel=0.1)
    assert torch.autograd.grad(found, a)[0].abs().min() > 0


def test_training_is_penalised_by_the_jacobian_of_a_part_of_the_images_and_adapting_is_not() -> None:
    model, x = tiny(Solver("anderson", 1e-6, 40)).train(), images(6)
    model(x)
    step = Step(model, x)
    z = torch.randn(6, sum(step.sizes)).double()
    torch.testing.assert_close(step.first(2)(z[:2]), step(z)[:2])
    assert model.penalty is not None
    assert model.penalty.item() > 0
    model.eval()(x)
    assert model.penalty is None


def test_the_solvers_of_training_are_for_train_mode_alone() -> None:
    model, x = tiny(), images()
    model.training_solvers = Solver("anderson", 1e-2, 4), None
    assert model.train().residual(x).max() > 1e-6 > model.eval().residual(x).max()


def test_wrong_sizes_widths_and_solvers_are_refused_in_one_line() -> None:
    model = tiny()
    with pytest.raises(
        ValueError, match=r"images of 8x7 do not halve 1 times; resize them to multiples of 2, such as --size 32$"
    ):
        model(torch.zeros(1, 3, 8, 7).double())
    with pytest.raises(ValueError, match=r"channels 4: .* multiples of 8; choose a width that is a multiple of 0\.25"):
        mdeq(width=0.125)
    with pytest.raises(ValueError, match="no solver 'newton'; there are broyden, anderson"):
        Solver("newton")


def test_without_torchdeq_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchdeq.solver", None)
    with pytest.raises(ModuleNotFoundError, match=r"torchdeq.* is not installed: pip install 'tent-tta\[mdeq\]'"):
        tiny()(images())


def test_the_doctor_finds_it_ready_and_names_what_adapts() -> None:
    found = tent.doctor(tiny(Solver()).float(), torch.randn(64, 3, 8, 8))
    assert not [finding for finding in found.findings if finding.level != "note"], found
