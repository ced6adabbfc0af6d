"""A torch in which a private name has moved: the import, the adaptation and its numbers stay."""

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from toys import batches, made

import tent
from tent.engine import private


class Without:
    """A namespace that lacks one name."""

    def __init__(self, whole: Any, missing: str) -> None:
        self.whole, self.missing = whole, missing

    def __getattr__(self, name: str) -> Any:
        if name == self.missing:
            raise AttributeError(f"no {name} here")
        return getattr(self.whole, name)


@pytest.fixture
def fresh_lean() -> Iterator[None]:
    """Import the lean path anew, and leave the one that everybody else has."""
    kept = {name: module for name, module in sys.modules.items() if name.startswith("tent.lean")}
    for name in kept:
        del sys.modules[name]
    yield
    for name in [name for name in sys.modules if name.startswith("tent.lean")]:
        del sys.modules[name]
    sys.modules.update(kept)
    tent.lean = kept["tent.lean"]


ATEN = (
    *("threshold_backward", "hardtanh_backward", "silu", "silu_backward", "hardswish", "hardswish_backward", "gelu"),
    *("gelu_backward", "convolution_backward", "native_batch_norm_backward", "native_layer_norm_backward"),
    *("avg_pool2d", "avg_pool2d_backward", "max_pool2d_with_indices", "max_pool2d_with_indices_backward"),
)


@pytest.mark.parametrize("name", ATEN)
def test_the_lean_path_needs_every_operation_when_it_is_imported(
    name: str, fresh_lean: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.ops, "aten", Without(torch.ops.aten, name))
    with pytest.raises(AttributeError, match=name):
        importlib.import_module("tent.lean.batch_norm")


@pytest.mark.parametrize("taken", ["torch._C.DisableTorchFunction", "torch._C._functorch.maybe_current_level"])
def test_the_lean_path_does_without(taken: str, fresh_lean: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(taken)
    functions = importlib.import_module("tent.lean").FUNCTIONS
    buffers = importlib.import_module("tent.lean.buffers").Buffers()
    x = torch.randn(4, 8, 6, 6, requires_grad=True)
    for function in (nn.functional.relu, nn.functional.max_pool2d):
        extra = (2,) if function is nn.functional.max_pool2d else ()
        expected = torch.autograd.grad(function(x, *extra).sin().sum(), x)
        assert torch.allclose(torch.autograd.grad(functions[function](buffers, x, *extra).sin().sum(), x)[0], *expected)


def test_products_do_without_onednns_own_function(monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 5)).eval(), torch.randn(6, 8)
    expected = tent.adapt(model)(x)
    monkeypatch.setattr(torch.ops, "mkldnn", Without(torch.ops.mkldnn, "_linear_pointwise"))
    assert torch.allclose(tent.adapt(model)(x), expected, atol=1e-5)


SCRIPT = """
import sys, warnings
import torch
{taken}
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as said:
    import tent
    torch.ops.aten = globals().get("aten", torch.ops.aten)  # torch itself needs all of them
    from toys import batches, made
    for _ in range(2):
        adapted = tent.adapt(made("conv"))
        answers = [adapted(x) for x in batches(2)]
plain = tent.adapt(made("conv"), lean=False)
assert all(torch.equal(one, plain(x)) for one, x in zip(answers, batches(2)))
assert adapted.state.setup.execution.buffers is None
said = [str(w.message) for w in said if "lean path" in str(w.message)]
assert len(said) == 1 and "as with lean=False" in said[0], said
"""


NO_BACKWARDS = """
class Fewer:
    def __getattr__(self, name):
        if name.endswith("_backward"):
            raise AttributeError(name)
        return getattr(aten, name)

aten, torch.ops.aten = torch.ops.aten, Fewer()
"""


@pytest.mark.parametrize("taken", [NO_BACKWARDS, 'sys.modules["tent.lean"] = None'], ids=["operations", "all of it"])
def test_without_the_lean_path_models_are_adapted_and_told_so_once(taken: str) -> None:
    here = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", SCRIPT.format(taken=taken)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **here})
    assert done.returncode == 0, done.stderr


class Checkpointed(nn.Module):
    """A model that runs a block once more inside its backward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.block, self.fc = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU()), nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(checkpoint(self.block, x, use_reentrant=False))


@pytest.mark.skipif(
    tuple(map(int, torch.__version__.split(".")[:2])) < (2, 7), reason="torch's backward takes no edges of a graph"
)
@pytest.mark.parametrize("net", ["conv", "checkpointed"])
def test_the_backward_pass_does_without_the_engines_own_call(net: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = made("conv").double() if net == "conv" else Checkpointed().double().eval()
    x = batches(1)[0].double() if net == "conv" else torch.randn(6, 8, dtype=torch.float64)
    found = []
    for _ in range(2):
        adapted = tent.adapt(model, lean=False)
        adapted.state.backward(tent.losses.entropy(adapted.state.forward(x).logits).mean())
        found.append([p.grad for p in adapted.parameters()])
        monkeypatch.delattr(torch.autograd.graph, "_engine_run_backward", raising=False)
    for one, other in zip(*found, strict=True):
        assert torch.equal(one, other)
    assert any(bool(grad.abs().sum() > 0) for grad in found[0])


def test_lists_of_tensors_do_without_torchs_own_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for _ in range(2):
        tensors = [torch.tensor([3.0, 4.0]), torch.tensor([[6.0], [8.0]])]
        private.divide_all(tensors, 2.0)
        found.append([*tensors, *private.norms(tensors)])
        for name in ("_foreach_div_", "_foreach_norm"):
            monkeypatch.delattr(torch, name, raising=False)
    assert [float(norm) for norm in found[0][2:]] == [2.5, 5.0]
    for one, other in zip(*found, strict=True):
        assert torch.equal(one, other)


def test_an_operation_that_is_gone_is_none() -> None:
    assert private.exported_operation("batch_norm") is torch.ops.aten.batch_norm.default
    assert private.exported_operation("no_such_operation") is None
