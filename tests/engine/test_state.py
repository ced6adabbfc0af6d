"""The state of an adaptation: its passes, counters, draws, memory, and what undoes them."""

import copy
import itertools

import pytest
import torch
from torch import Tensor, nn
from toys import Photograph, batches, logits, made

import tent
from tent import ForwardPass, State, norm, select


def test_counts_are_of_samples_batches_and_resets() -> None:
    adapted = tent.adapt(made("conv"), steps=2)
    for x in batches(3):
        adapted(x)
    counts = adapted.state.counts
    assert (counts.forwards, counts.backwards, counts.updates, counts.skipped) == (36, 36, 3, 0)
    with adapted.paused():
        adapted(batches(1)[0])
    assert (counts.forwards, counts.backwards) == (42, 36)
    with pytest.warns(RuntimeWarning):
        adapted(batches(1)[0] * torch.nan)
    adapted.reset()
    assert (adapted.state.counts.skipped, adapted.state.counts.resets) == (1, 1)
    assert adapted.updates == 3


def test_the_teachers_passes_are_counted_and_leave_no_graph() -> None:
    class Watched(tent.Tent):
        def loss(self, seen: ForwardPass, state: State) -> Tensor:
            source = state.forward(*seen.inputs[0], params=state.source, stats=norm.Source(), grad=False)
            assert not source.logits.requires_grad
            state.tensors["source"] = source.logits
            return super().loss(seen, state)

    model, x = made("conv"), batches(1)[0]
    adapted = tent.adapt(model, Watched())
    adapted(x)
    assert torch.allclose(adapted.state.tensors["source"], model(x), atol=1e-5)
    assert (adapted.state.counts.forwards, adapted.state.counts.backwards) == (12, 6)


def test_a_parameter_that_the_model_has_not_is_refused() -> None:
    state = tent.adapt(made("conv")).state
    with pytest.raises(ValueError, match="Sequential has no parameter 'fc'"):
        state.forward(batches(1)[0], params={"fc": torch.ones(1)})


def test_a_pass_outside_a_call_is_in_eval_mode_and_leaves_no_trace() -> None:
    model, x = made("conv").train(), batches(1)[0]
    photograph = Photograph(model)
    state = tent.adapt(model).state
    assert torch.equal(state.forward(x).logits, state.forward(x, grad=False).logits)
    photograph.check()


def test_draws_are_new_in_every_step_and_replayed_by_a_reset() -> None:
    drawn: list[list[float]] = []

    class Draws(tent.Method):
        stats = norm.Batch()

        def step(self, seen: ForwardPass, state: State) -> None:
            drawn.append(torch.rand(2, generator=state.generator("views")).tolist())
            drawn.append(torch.rand(2, generator=state.generator("noise")).tolist())

    adapted = tent.adapt(made("conv"), Draws())
    for _ in range(2):
        for x in batches(3):
            adapted(x)
        adapted.reset()
    assert drawn[:6] == drawn[6:]
    assert len({tuple(values) for values in drawn[:6]}) == 6


def test_memory_goes_back_when_the_loss_turns_out_not_finite() -> None:
    class Remembers(tent.Tent):
        def loss(self, seen: ForwardPass, state: State) -> Tensor:
            state.tensors["mean"] = state.tensors.get("mean", torch.zeros(())) + seen.logits.detach().mean()
            return super().loss(seen, state) * (torch.nan if state.step == 2 else 1)

    adapted = tent.adapt(made("conv"), Remembers())
    for x in batches(2):
        adapted(x)
    before = adapted.state_dict()
    with pytest.warns(RuntimeWarning, match="skipped: its loss or gradient is not finite"):
        adapted(batches(3)[2])
    assert "tensors:mean" in before
    assert all(torch.equal(before[name], tensor) for name, tensor in adapted.state_dict().items())


class Interrupts(torch.autograd.Function):
    """Raises on its way back, when it is armed."""

    armed = False

    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
        return x.clone()

    @staticmethod
    def backward(ctx, grad: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
        if Interrupts.armed:
            raise KeyboardInterrupt
        return grad


class Interrupted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = made("conv")

    def forward(self, x: Tensor) -> Tensor:
        x = self.net[:5](x)
        return self.net[5:](Interrupts.apply(x))


@pytest.mark.parametrize("lean", [True, False])
def test_gradients_of_an_interrupted_pass_do_not_join_the_next_update(lean: bool) -> None:
    adapted, other = (tent.adapt(Interrupted(), lr=0.1, lean=lean) for _ in range(2))
    first, second = batches(2)
    Interrupts.armed = True
    try:
        with pytest.raises(KeyboardInterrupt):
            adapted(first)
    finally:
        Interrupts.armed = False
    assert all(param.grad is None for param in adapted.parameters())
    adapted(second), other(second)
    assert all(torch.equal(p, q) for p, q in zip(adapted.parameters(), other.parameters(), strict=True))


def test_a_method_may_reset_in_its_step() -> None:
    class Restarts(tent.Tent):
        def step(self, seen: ForwardPass, state: State) -> None:
            if state.step == 2:
                state.reset()
            else:
                super().step(seen, state)

    adapted, plain = tent.adapt(made("conv"), Restarts(), lr=0.1), tent.adapt(made("conv"), lr=0.1)
    stream, updates = batches(3), []
    adapted.on_update(updates.append)
    for x in stream:
        adapted(x)
    assert adapted.state.counts.resets == 1
    assert [update.reset for update in updates] == [False, False, True]
    assert all(torch.equal(p, adapted.source.state_dict()[name]) for name, p in adapted.named_parameters())
    assert torch.equal(logits(adapted(stream[0])), logits(plain(stream[0])))


class Prepared(tent.Tent):
    """Keeps the mean gradient of source data."""

    needs = frozenset({"source data"})

    def prepare(self, state: State, batches) -> None:  # type: ignore[no-untyped-def]
        for seen in batches:
            state.backward(tent.losses.entropy(seen.logits).mean())
            for name, param in state.params.items():
                state.tensors[f"fisher {name}"] = state.tensors.get(f"fisher {name}", 0) + param.grad.square()
            state.clear_gradients()

    def loss(self, seen: ForwardPass, state: State) -> Tensor:
        pull = sum(
            (state.tensors[f"fisher {n}"] * (p - state.source[n]).square()).sum() for n, p in state.params.items()
        )
        return super().loss(seen, state) + pull


def test_what_was_prepared_survives_a_reset_and_travels_in_the_delta(tmp_path) -> None:  # type: ignore[no-untyped-def]
    model = made("conv")
    adapted = tent.adapt(model, Prepared())
    with pytest.raises(ValueError, match=r"Prepared needs source data: call adapted.prepare\(batches\) first"):
        adapted(batches(1)[0])
    photograph = Photograph(model)
    adapted.prepare((x, torch.zeros(6)) for x in batches(2, seed=8))
    photograph.check()
    fisher = adapted.state.tensors["fisher 1.weight"]
    assert fisher.any()
    adapted(batches(1)[0])
    adapted.reset()
    assert adapted.state.tensors["fisher 1.weight"] is fisher
    adapted(batches(1)[0])
    adapted.delta().save(tmp_path / "delta")
    other = tent.adapt(model, Prepared())
    other.load_delta(tmp_path / "delta")
    other.reset()
    assert torch.equal(other.state.tensors["fisher 1.weight"], fisher)
    other(batches(1)[0])


def test_an_optimizer_function_is_given_names() -> None:
    def rates(params, lr):  # type: ignore[no-untyped-def]
        pairs = list(params)
        assert {name for name, _ in pairs} == {"1.weight", "1.bias", "6.weight", "6.bias"}
        groups = [{"params": [p], "lr": lr if name.endswith("bias") else 0.0} for name, p in pairs]
        return torch.optim.SGD(groups)

    adapted = tent.adapt(made("conv"), optimizer=rates, lr=0.5)
    adapted(batches(1)[0])
    moved = {n for n, p in adapted.named_parameters() if not torch.equal(p, adapted.source.state_dict()[n])}
    assert moved == {"1.bias", "6.bias"}


def test_statistics_may_have_a_share_of_their_own_in_every_channel() -> None:
    class PerChannel(norm.Stats):
        def share(self, layer: norm.NormLayer, batch: Tensor) -> Tensor:
            names.append(layer.name)
            assert batch.shape[1] == len(layer.mean)
            return torch.linspace(0, 1, len(layer.mean))

    names: list[str] = []
    model, x = made("conv"), batches(1)[0]
    found = tent.adapt(model, tent.BN(), stats=PerChannel())(x)
    plain = copy.deepcopy(model)
    for layer in (plain[1], plain[6]):
        layer.register_forward_pre_hook(mix_by_channel)
    assert torch.allclose(found, plain(x), atol=1e-5)
    assert set(names) == {"1", "6"}


@torch.no_grad()
def mix_by_channel(layer: nn.BatchNorm2d, args: tuple[Tensor]) -> None:
    share = torch.linspace(0, 1, layer.num_features)
    var, mean = torch.var_mean(args[0], (0, 2, 3), correction=0)
    layer.running_mean.lerp_(mean, share)
    layer.running_var.lerp_(var, share)


def test_who_watches_is_told_of_every_batch() -> None:
    adapted, updates = tent.adapt(made("conv"), lr=0.1), []
    end = adapted.on_update(updates.append)
    for x in batches(2):
        adapted(x)
    with adapted.paused():
        adapted(batches(1)[0])
    with pytest.warns(RuntimeWarning):
        adapted(batches(1)[0] * torch.inf)
    end()
    adapted(batches(1)[0])
    assert [update.index for update in updates] == [0, 1, 2]
    assert [update.skipped for update in updates] == [False, False, True]
    assert 0 < updates[0].drift < updates[1].drift == updates[2].drift
    first = updates[0]
    assert first.loss == pytest.approx(first.entropy)
    assert 0 < first.confidence < 1
    assert first.seconds > 0


def test_who_watches_may_reset() -> None:
    adapted = tent.adapt(made("conv"), lr=0.1)
    adapted.on_update(lambda update: adapted.reset() if update.index == 1 else None)
    for x in batches(2):
        adapted(x)
    assert adapted.state.counts.resets == 1
    assert all(torch.equal(p, adapted.source.state_dict()[name]) for name, p in adapted.named_parameters())


@pytest.mark.parametrize("act", ["call", "reset", "load"])
def test_an_adaptation_is_not_touched_inside_its_own_pass(act: str) -> None:
    class Meddles(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net, self.act = made("conv"), None

        def forward(self, x: Tensor) -> Tensor:
            if self.act:
                self.act(x)
            return self.net(x)

    model, x = Meddles(), batches(1)[0]
    adapted = tent.adapt(model, lr=0.1)
    adapted(x)
    before, delta = adapted.state_dict(), adapted.delta()
    model.act = {"call": adapted, "reset": lambda x: adapted.reset(), "load": lambda x: adapted.load_delta(delta)}[act]
    with pytest.raises(RuntimeError, match="inside its own pass"):
        adapted(x)
    model.act = None
    assert all(torch.equal(before[name], tensor) for name, tensor in adapted.state_dict().items())
    adapted(x)
    assert adapted.updates == 2


@pytest.mark.parametrize("options", [{"steps": 3}, {"answers": "after"}, {"stats": norm.Source()}])
def test_a_model_that_prepares_its_input_in_place_neither_does_so_twice_nor_to_the_callers(options: dict) -> None:
    class InPlace(nn.Module):
        def __init__(self, prepare) -> None:  # type: ignore[no-untyped-def]
            super().__init__()
            self.net, self.prepare = made("conv"), prepare

        def forward(self, x: Tensor) -> Tensor:
            return self.net(self.prepare(x))

    x = batches(1)[0]
    given = x.clone()
    ours = tent.adapt(InPlace(lambda x: x.sub_(1.0).div_(0.5)), **options)
    theirs = tent.adapt(InPlace(lambda x: (x - 1.0) / 0.5), **options)
    for _ in range(2):
        assert torch.equal(ours(x), theirs(x))
        assert torch.equal(x, given)


def test_an_answer_that_is_a_view_of_a_parameter_is_a_copy() -> None:
    class Shows(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.fc = nn.LayerNorm(4), nn.Linear(4, 3)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return self.fc(self.norm(x)), self.norm.weight[1:]

    adapted, source = tent.adapt(Shows(), lr=0.5), torch.ones(3)
    shown = adapted(torch.randn(5, 4))[1]
    assert torch.equal(shown, source)
    shown.zero_()
    assert not torch.equal(dict(adapted.named_parameters())["norm.weight"][1:], shown)


def test_states_of_random_operations_are_those_of_a_twin() -> None:
    """Whatever the order of calls, an adaptation that was loaded and reset goes on as a fresh one does."""
    model, (one, two, three) = made("residual"), batches(3)
    for order in itertools.permutations(range(3)):
        adapted, twin = (tent.adapt(model, select=select.everything, lr=0.01) for _ in range(2))
        adapted(three)
        delta = adapted.delta()
        actions = [adapted.reset, lambda: adapted.load_delta(delta), lambda: adapted.fit([two])]  # noqa: B023
        for place in order:
            actions[place]()
        adapted.reset()
        for x in (one, two):
            assert torch.equal(logits(adapted(x)), logits(twin(x)))
        twin.reset()


def test_a_parameter_of_the_source_that_a_method_adds_is_a_copy() -> None:
    class Promotes(tent.Tent):
        def start(self, state: State) -> None:
            state.params["10.bias"] = state.source["10.bias"]

    model = made("conv")
    photograph = Photograph(model)
    adapted = tent.adapt(model, Promotes(), lr=0.1)
    for x in batches(2):
        adapted(x)
    photograph.check()
    assert not torch.equal(dict(adapted.named_parameters())["10.bias"], model[10].bias)


def test_a_reset_in_a_step_resets_the_statistics_too() -> None:
    class Resets(tent.Tent):
        def step(self, seen: ForwardPass, state: State) -> None:
            state.reset()

    adapted = tent.adapt(made("conv"), Resets(), stats=norm.Running(0.5))
    adapted(batches(1)[0])
    assert adapted.state.moments == {}
    assert adapted.state.step == 0


def test_preparing_keeps_one_graph_at_a_time_and_needs_a_batch() -> None:
    graphs = []

    class Reads(tent.Tent):
        needs = frozenset({"source data"})

        def prepare(self, state: State, batches) -> None:  # type: ignore[no-untyped-def]
            for seen in batches:
                state.tensors["features"] = seen.features.detach()
                graphs.append(len(state._graphs))

    adapted = tent.adapt(made("conv"), Reads())
    with pytest.raises(ValueError, match="prepare was given no batches"):
        adapted.prepare([])
    adapted.prepare(batches(4))
    assert graphs == [1, 1, 1, 1]
    adapted(batches(1)[0])


def test_a_loss_that_is_no_scalar_is_one_clear_line() -> None:
    class PerSample(tent.Tent):
        def loss(self, seen: ForwardPass, state: State) -> Tensor:
            return tent.losses.entropy(seen.logits)

    with pytest.raises(ValueError, match=r"the loss has shape \(6,\); return a scalar, such as loss.mean\(\)"):
        tent.adapt(made("conv"), PerSample())(batches(1)[0])


def test_a_method_of_its_own_kind_needs_neither_parameters_nor_batch_norms() -> None:
    class Halves(tent.Method):
        stats = norm.Batch()

        def answer(self, seen: ForwardPass, state: State) -> Tensor:
            return seen.with_logits(seen.logits / 2)

    net, x = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)), torch.randn(3, 4)
    adapted = tent.adapt(net, Halves())
    assert torch.allclose(adapted(x), net(x) / 2)
    with pytest.raises(ValueError, match="Halves answers by more than the model"):
        adapted.baked([x])


def test_a_delta_with_a_memory_is_for_its_own_method() -> None:
    class Counts(tent.Tent):
        def loss(self, seen: ForwardPass, state: State) -> Tensor:
            state.tensors["count"] = state.tensors.get("count", torch.zeros(())) + 1
            return super().loss(seen, state)

    model = made("conv")
    adapted = tent.adapt(model, Counts())
    adapted(batches(1)[0])
    with pytest.raises(ValueError, match=r"what Counts\(objective=entropy\) remembers, and this is Tent"):
        tent.adapt(model).load_delta(adapted.delta())
    other = tent.adapt(model, Counts())
    other.load_delta(adapted.delta())
    assert float(other.state.tensors["count"]) == 1


def test_a_pass_may_be_normalised_by_other_means_and_variances() -> None:
    model, x = made("conv"), batches(1)[0]
    adapted = tent.adapt(model, tent.BN(), stats=norm.Running(0.3))
    adapted(x)
    held, state = dict(adapted.state.moments), adapted.state
    other = copy.deepcopy(model)
    for name, moments in held.items():
        layer = other.get_submodule(name)
        layer.running_mean.copy_(moments.mean)
        layer.running_var.copy_(moments.var)
    adapted.reset()
    seen = state.forward(x, stats=norm.Source(), moments=held)
    assert torch.allclose(seen.logits, other(x), atol=1e-5)
    assert state.moments == {}
    again = state.forward(x, stats=norm.Running(0.3), moments=held).moments
    assert torch.allclose(again["1"].mean, 0.7 * held["1"].mean + 0.3 * other[0](x).mean((0, 2, 3)), atol=1e-5)


def test_draws_go_on_where_a_delta_was_saved(tmp_path) -> None:
    model = made("conv")
    adapted, other = tent.adapt(model), tent.adapt(model)
    for x in batches(3):
        adapted(x)
    adapted.delta().save(tmp_path / "delta.safetensors")
    other.load_delta(tmp_path / "delta.safetensors")
    assert other.state.step == 3
    draws = [torch.rand(4, generator=each.state.generator("x")) for each in (adapted, other)]
    assert torch.equal(*draws)


def test_shared_draws_are_the_same_on_every_rank(monkeypatch) -> None:
    state = tent.adapt(made("conv")).state

    def draw(rank: int, shared: bool) -> float:
        monkeypatch.setattr("tent.engine.distributed.rank", lambda group: rank)
        return float(torch.rand((), generator=state.generator("x", shared=shared)))

    assert draw(0, shared=True) == draw(1, shared=True)
    assert draw(0, shared=False) != draw(1, shared=False)
