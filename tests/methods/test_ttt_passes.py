"""TTT's passes: on turned images to learn, on upright ones to answer and to remember, and none that nobody reads."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from toys import alike, batches, made

import tent
from tent import norm, select
from tent.engine.source_model import SourceModel

BATCH_NORM, GROUP_NORM = "batch-norm-two-heads", "group-norm-two-heads"


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    made, run = [], SourceModel.run

    def count(self: SourceModel, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        made.append(f"{inputs[1].get('head', 'upright')}{' with graph' if torch.is_grad_enabled() else ''}")
        return run(self, inputs, *args, **kwargs)

    monkeypatch.setattr(SourceModel, "run", count)
    return made


ROTATION, UPRIGHT = "rotation with graph", "upright"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [ROTATION, UPRIGHT]),
        ({"answers": "before"}, [UPRIGHT, ROTATION]),
        ({"steps": 3}, [ROTATION, ROTATION, ROTATION, UPRIGHT]),
        ({"steps": 3, "answers": "before"}, [ROTATION, ROTATION, UPRIGHT, ROTATION]),
        ({"episodic": True}, [ROTATION, UPRIGHT]),
        ({"stats": norm.Running()}, [ROTATION, UPRIGHT]),
        ({"select": select.nothing}, [UPRIGHT]),
    ],
)
def test_no_pass_is_made_that_nobody_reads(options: dict, expected: list[str], passes: list[str]) -> None:
    tent.adapt(made(BATCH_NORM), tent.TTT(), **options)(batches(1)[0])
    assert passes == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [ROTATION]),
        ({"steps": 2, "answers": "before"}, [ROTATION, ROTATION]),
        ({"stats": norm.Running()}, [ROTATION, UPRIGHT]),
        ({"stats": norm.Running(), "answers": "before"}, [UPRIGHT, ROTATION]),
    ],
)
def test_offline_learns_what_online_does_and_answers_nothing(
    options: dict, expected: list[str], passes: list[str]
) -> None:
    stream = batches(3)
    fitted, online = (tent.adapt(made(BATCH_NORM), tent.TTT(), lr=0.05, **options) for _ in range(2))
    fitted.fit(stream, epochs=2)
    assert passes == expected * 6
    for x in stream * 2:
        online(x)
    assert fitted.updates == online.updates == 6
    assert alike(fitted, online)


def test_a_pass_before_is_the_model_as_it_was_and_after_as_it_is() -> None:
    before, after = (tent.adapt(made(GROUP_NORM), tent.TTT(), lr=0.1, answers=when) for when in ("before", "after"))
    x = batches(1)[0]
    assert torch.allclose(before(x), before.source(x), atol=1e-5)
    answer = after(x)
    assert alike(before, after)
    with before.paused():
        assert torch.equal(before(x), answer)
    assert not torch.allclose(answer, before.source(x), atol=1e-4)


@pytest.mark.parametrize("when", ["before", "after"])
def test_statistics_are_remembered_of_the_upright_pass(when: str) -> None:
    model, x = made(BATCH_NORM), batches(1)[0]
    adapted = tent.adapt(model, tent.TTT(), stats=norm.Running(0.3), answers=when, lr=0.2)
    adapted(x)
    plain = made(BATCH_NORM)
    if when == "after":
        plain.load_state_dict({**plain.state_dict(), **dict(adapted.named_parameters())})
    layers = {name: layer for name, layer in plain.trunk.named_modules() if isinstance(layer, nn.BatchNorm2d)}
    for layer in layers.values():
        layer.register_forward_pre_hook(follow)
    plain(x)
    found = {name: tensor for name, tensor in adapted.state_dict().items() if "running" in name}
    assert len(found) == 2 * len(layers)  # and none of the branch, which upright images do not go through
    for name, layer in layers.items():
        assert torch.allclose(found[f"trunk.{name}.running_mean"], layer.running_mean, atol=1e-5)
        assert torch.allclose(found[f"trunk.{name}.running_var"], layer.running_var, atol=1e-5)


@torch.no_grad()
def follow(layer: nn.BatchNorm2d, args: tuple[Tensor]) -> None:
    layer.running_mean.lerp_(args[0].mean((0, 2, 3)), 0.3)
    layer.running_var.lerp_(args[0].var((0, 2, 3), correction=0), 0.3)
