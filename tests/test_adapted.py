import pickle
import threading
import time
from functools import partial

import pytest
import torch
import torchvision
from torch import nn
from toys import NETS, Photograph, batches, logits, made

import tent
from tent import norm, select


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "tent"}, TypeError, r"a Method such as tent.Tent\(\), got 'tent'"),
        ({"method": tent.Tent}, TypeError, "a Method such as"),
        ({"stats": "batch"}, TypeError, "a choice of tent.norm"),
        ({"steps": 0}, ValueError, "steps must be 1 or more, got 0"),
        ({"answers": "later"}, ValueError, "'before' or 'after' the update, got 'later'"),
        ({"episodic": True}, ValueError, "would never show the update; pass answers='after'"),
        ({"optimizer": 3}, TypeError, "a class or a function of the parameters, got int"),
    ],
)
def test_a_wrong_option_is_one_clear_line(options, error, message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        tent.adapt(made("conv"), **options)
    assert "\n" not in str(caught.value)


def test_an_optimizer_instance_is_refused() -> None:
    net = made("conv")
    with pytest.raises(TypeError, match="got SGD"):
        tent.adapt(net, optimizer=torch.optim.SGD(net.parameters(), 0.1))


@pytest.mark.parametrize("method", [tent.Tent(), tent.BN(), tent.PL()])
def test_a_model_with_nothing_to_adapt_is_refused(method: tent.Method) -> None:
    with pytest.raises(ValueError, match=r"Linear has nothing to adapt: .*whose statistics could change; pass another"):
        tent.adapt(nn.Linear(3, 3), method)


def test_bn_on_layer_norms_alone_is_refused_and_source_is_not() -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3))
    with pytest.raises(ValueError, match="no batch norm whose statistics"):
        tent.adapt(net, tent.BN())
    tent.adapt(net, tent.Source())


def test_a_norm_layer_without_affine_parameters_adapts_its_statistics() -> None:
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, affine=False), nn.Flatten(), nn.Linear(144, 3)).eval()
    x = batches(1)[0]
    adapted = tent.adapt(net)
    assert not torch.allclose(adapted(x), net(x))
    assert torch.equal(adapted(x), tent.adapt(net, tent.BN())(x))


def test_what_is_not_a_module_is_refused() -> None:
    with pytest.raises(TypeError, match=r"needs a torch.nn.Module, got str"):
        tent.adapt("model")  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:.*torch.jit")
def test_a_script_module_is_refused_by_name() -> None:
    net = made("conv")
    with pytest.raises(ValueError, match="is a ScriptModule, whose inside is hidden"):
        tent.adapt(torch.jit.trace(net, batches(1)[0]))
    with pytest.raises(ValueError, match="its part '0' is a ScriptModule"):
        tent.adapt(nn.Sequential(torch.jit.trace(net, batches(1)[0]), nn.LayerNorm(5)))


def test_wrappers_are_looked_behind_or_refused() -> None:
    net = made("conv")
    assert tent.adapt(torch.compile(net)).source is net
    with pytest.raises(ValueError, match=r"adapt its \.module instead"):
        tent.adapt(nn.DataParallel(net))


def test_weights_of_inference_mode_are_refused() -> None:
    with torch.inference_mode():
        net = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3))
    with pytest.raises(ValueError, match=r"load them outside it"):
        tent.adapt(net)


def test_a_model_that_turns_gradients_off_is_told_apart() -> None:
    class Frozen(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = made("conv")

        @torch.no_grad()
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.net(x)

    with pytest.raises(ValueError, match="does the model's forward turn gradients off"):
        tent.adapt(Frozen())(batches(1)[0])


@pytest.mark.parametrize(
    "optimizer", [torch.optim.SGD, partial(torch.optim.SGD, momentum=0.9), lambda p, lr: torch.optim.SGD(p, lr)]
)
def test_the_optimizer_is_a_class_or_a_function_and_takes_the_lr(optimizer) -> None:
    adapted = tent.adapt(made("conv"), optimizer=optimizer, lr=0.25)
    assert isinstance(adapted.state.optimizer, torch.optim.SGD)
    assert adapted.state.optimizer.param_groups[0]["lr"] == 0.25


def test_lr_alone_keeps_the_methods_optimizer() -> None:
    adapted = tent.adapt(made("conv"), lr=0.5)
    assert isinstance(adapted.state.optimizer, torch.optim.Adam)
    assert adapted.state.optimizer.param_groups[0]["lr"] == 0.5
    assert tent.adapt(made("conv")).state.optimizer.param_groups[0]["lr"] == 1e-3


def test_answers_after_are_those_of_the_updated_model() -> None:
    before, after = tent.adapt(made("conv"), lr=0.1), tent.adapt(made("conv"), lr=0.1, answers="after")
    x = batches(1)[0]
    first, updated = before(x), after(x)
    assert not torch.equal(first, updated)
    with before.paused():
        assert torch.equal(before(x), updated)


def test_steps_answer_from_the_last_pass() -> None:
    many, one = tent.adapt(made("conv"), steps=3, lr=0.1), tent.adapt(made("conv"), lr=0.1)
    x = batches(1)[0]
    assert torch.equal(many(x), [one(x) for _ in range(3)][-1])


@pytest.mark.parametrize("answers", ["before", "after"])
def test_a_failure_in_a_later_step_takes_the_earlier_ones_back(answers: str) -> None:
    class Breaks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net, self.left = made("conv"), 100

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.left -= 1
            if self.left < 0:
                raise KeyError("no more")
            return self.net(x)

    net = Breaks()
    adapted = tent.adapt(net, steps=2, answers=answers, lr=0.1, stats=norm.Running(0.2))
    adapted(batches(1)[0])
    before, moments = adapted.state_dict(), adapted.state.optimizer.state_dict()["state"][0]["exp_avg"].clone()
    net.left = 1 if answers == "before" else 2
    with pytest.raises(KeyError):
        adapted(batches(2)[1])
    assert all(torch.equal(before[name], tensor) for name, tensor in adapted.state_dict().items())
    assert torch.equal(adapted.state.optimizer.state_dict()["state"][0]["exp_avg"], moments)


def test_statistics_that_are_not_finite_are_not_remembered() -> None:
    adapted = tent.adapt(made("conv"), tent.BN(), stats=norm.Running(0.2))
    adapted(batches(1)[0])
    before = adapted.state_dict()
    with pytest.warns(RuntimeWarning, match="statistics are not finite"):
        adapted(batches(1)[0] * 1e30)
    assert all(torch.equal(before[name], tensor) for name, tensor in adapted.state_dict().items())


def test_no_graph_is_kept_between_batches() -> None:
    adapted = tent.adapt(made("conv"), steps=2)
    adapted(batches(1)[0])
    assert adapted.state._graphs == []
    assert all(p.grad is None for p in adapted.parameters())


def test_fit_is_the_online_update_over_every_epoch() -> None:
    stream = batches(3)
    fitted, online = tent.adapt(made("conv")), tent.adapt(made("conv"))
    assert fitted.fit([(x, torch.zeros(6)) for x in stream], epochs=2) is fitted
    for x in stream * 2:
        online(x)
    assert all(torch.equal(p, q) for p, q in zip(fitted.parameters(), online.parameters(), strict=True))


@pytest.mark.parametrize(
    ("options", "given", "epochs", "message"),
    [
        ({"episodic": True, "steps": 2}, [0], 1, "episodic=False"),
        ({}, iter([0]), 2, "pass a list or a DataLoader"),
        ({}, [], 1, "no batches"),
    ],
)
def test_fit_refuses_what_makes_no_sense(options, given, epochs: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tent.adapt(made("conv"), **options).fit(given, epochs)


def test_it_looks_like_a_module() -> None:
    adapted = tent.adapt(made("conv"))
    assert isinstance(adapted, nn.Module)
    assert sum(p.numel() for p in adapted.parameters()) == 32
    assert "moves 32 of 877 parameters" in repr(adapted)
    assert adapted.to("cpu") is adapted
    with pytest.raises(RuntimeError, match="never written to; move or convert it first"):
        adapted.half()
    adapted.load_state_dict(adapted.state_dict())
    assert "0.1.weight" in nn.Sequential(adapted).state_dict()


def test_it_pickles() -> None:
    adapted = tent.adapt(made("residual"), lr=0.01)
    adapted(batches(1)[0])
    twin = pickle.loads(pickle.dumps(adapted))
    for x in batches(3):
        assert torch.equal(logits(adapted(x)), logits(twin(x)))


def test_changes_of_the_source_are_followed() -> None:
    """Its places are looked into at every pass, so weights that a user loads later are those that run."""
    net, other = made("conv"), made("conv", seed=5)
    adapted, x = tent.adapt(net, stats=norm.Source()), batches(1)[0]
    net.load_state_dict(other.state_dict(), assign=True)
    adapted.reset()
    assert torch.allclose(adapted(x), other(x).detach(), atol=1e-5)


@pytest.mark.parametrize("net", NETS)
def test_one_adaptation_called_from_many_threads_serves_them_one_by_one(net: str) -> None:
    adapted = tent.adapt(made(net).train(), lr=0.01)
    photograph = Photograph(adapted.source)
    threads = [threading.Thread(target=lambda x=x: adapted(x)) for x in batches(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert adapted.updates == 8
    photograph.check()


def test_train_mode_comes_back_when_the_last_call_ends() -> None:
    class Slow(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.dropout = nn.LayerNorm(4), nn.Dropout(0.9)

        def forward(self, x: torch.Tensor, seconds: float) -> torch.Tensor:
            time.sleep(seconds)
            return self.dropout(self.norm(x))

    net = Slow().train()
    answers: dict[float, torch.Tensor] = {}

    def work(seconds: float) -> None:
        answers[seconds] = tent.adapt(net)(torch.eye(4), seconds)

    threads = [threading.Thread(target=work, args=(seconds,)) for seconds in (0.05, 0.3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.equal(answers[0.05], answers[0.3])
    assert all(module.training for module in net.modules())


def test_every_axis_at_once() -> None:
    """Tent's loss, all parameters, source statistics, episodic: one call."""
    adapted = tent.adapt(made("conv"), select=select.everything, stats=norm.Source(), episodic=True, steps=2)
    assert adapted(batches(1)[0]).shape == (6, 5)


@pytest.mark.parametrize("method", [tent.Tent(), tent.BN()])
def test_frozen_norms_alone_are_refused(method: tent.Method) -> None:
    frozen = torchvision.ops.FrozenBatchNorm2d(4)
    net = nn.Sequential(nn.Conv2d(3, 4, 3), frozen, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))
    message = (
        r"nothing to adapt: .*1 frozen norm layers, such as '1', keep their statistics; build it with nn.BatchNorm2d"
    )
    with pytest.raises(ValueError, match=message):
        tent.adapt(net, method)
    tent.adapt(net, select=tent.select.last_layer, stats=norm.Source())(batches(1)[0])


@pytest.mark.parametrize("tracks", [False, True])
def test_norms_without_parameters_adapt_by_their_statistics_or_not_at_all(tracks: bool) -> None:
    bare = nn.BatchNorm2d(4, affine=False, track_running_stats=tracks)
    net = nn.Sequential(nn.Conv2d(3, 4, 3), bare, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3)).eval()
    for method in (tent.Tent(), tent.BN()):
        if tracks:
            assert not torch.equal(tent.adapt(net, method)(batches(1)[0]), net(batches(1)[0]))
        else:
            with pytest.raises(ValueError, match="no batch norm whose statistics could change"):
                tent.adapt(net, method)


class Alike(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = made("conv")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike)


@pytest.mark.parametrize("lean", [True, False])
@pytest.mark.parametrize("wrap", [lambda model: model, nn.Sequential], ids=["itself", "a part"])
def test_a_module_that_compares_without_a_hash_is_refused_with_the_remedy(wrap, lean: bool) -> None:
    with pytest.raises(ValueError, match=r"Alike defines __eq__ without __hash__.*add `__hash__ = "):
        tent.adapt(wrap(Alike()), lean=lean)


def test_the_remedy_for_modules_that_compare_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Alike, "__hash__", nn.Module.__hash__)
    x = batches(1)[0]
    assert torch.equal(tent.adapt(nn.Sequential(Alike()))(x), tent.adapt(made("conv"))(x))
