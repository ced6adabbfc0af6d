import copy

import numpy as np
import pytest
import torch
from torch import nn
from toys import NETS, Photograph, batches, logits, made

import tent
from tent import norm

STATS = [norm.Batch(), norm.Source(), norm.Blend(0.4), norm.Prior(8), norm.Running(0.3)]


@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("stats", STATS, ids=str)
def test_baked_agrees_with_the_adapted_at_the_statistics_it_was_given(net: str, stats: norm.Stats) -> None:
    model = made(net).train()
    adapted = tent.adapt(model, stats=stats, lr=0.01)
    for x in batches(3):
        adapted(x)
    photograph = Photograph(model)
    x = batches(4)[3]
    baked = adapted.baked([x])
    with adapted.paused(), torch.no_grad():
        assert torch.allclose(logits(baked(x)), logits(adapted(x)), atol=1e-5)
    assert type(baked) is type(model)
    assert not any(module.training for module in baked.modules())
    photograph.check()


def test_several_batches_are_pooled_as_one() -> None:
    net = nn.Sequential(nn.BatchNorm2d(3), nn.Conv2d(3, 4, 3)).eval()
    adapted = tent.adapt(net, tent.BN())
    parts = [*batches(2), batches(1, size=3, seed=4)[0]]
    baked = adapted.baked([(x, None) for x in parts])
    whole = torch.cat(parts)
    assert torch.allclose(baked[0].running_mean, whole.mean((0, 2, 3)), atol=1e-5)
    assert torch.allclose(baked[0].running_var, whole.var((0, 2, 3), correction=0), atol=1e-5)


def test_remembered_and_source_statistics_need_no_batches() -> None:
    adapted = tent.adapt(made("conv"), stats=norm.Running(0.3))
    for x in batches(3):
        adapted(x)
    assert torch.equal(adapted.baked()[1].running_mean, adapted.delta().tensors["1.running_mean"])
    tent.adapt(made("conv"), stats=norm.Source()).baked()


@pytest.mark.parametrize(("given", "message"), [(None, "needs batches"), ([], "no batches")])
def test_without_batches_it_says_so(given, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tent.adapt(made("conv")).baked(given)


def test_tracked_instance_norms_keep_to_each_images_own_statistics() -> None:
    net = nn.Sequential(nn.InstanceNorm2d(3, affine=True, track_running_stats=True), nn.Conv2d(3, 4, 3)).eval()
    adapted, x = tent.adapt(net, lr=0.1), batches(1)[0]
    adapted(x)
    with adapted.paused():
        assert torch.allclose(adapted.baked([x])(x), adapted(x), atol=1e-5)


def test_baked_exports() -> None:
    adapted, x = tent.adapt(made("conv"), lr=0.01), batches(1)[0]
    adapted(x)
    program = torch.export.export(adapted.baked([x]), (x,))
    with adapted.paused():
        assert torch.allclose(program.module()(x), adapted(x), atol=1e-5)


@pytest.mark.filterwarnings("default")
def test_baked_runs_in_onnx(tmp_path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    adapted, x = tent.adapt(made("conv"), lr=0.01), batches(1)[0]
    adapted(x)
    torch.onnx.export(adapted.baked([x]), (x,), tmp_path / "m.onnx", dynamo=True, verbose=False)
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    found = session.run(None, {session.get_inputs()[0].name: x.numpy()})[0]
    with adapted.paused():
        assert np.allclose(found, adapted(x).numpy(), atol=1e-5)


def test_baked_is_a_copy() -> None:
    adapted, x = tent.adapt(made("conv")), batches(1)[0]
    baked = adapted.baked([x])
    kept = copy.deepcopy(baked.state_dict())
    adapted(x)
    assert all(torch.equal(kept[name], tensor) for name, tensor in baked.state_dict().items())
