"""Statistics and stand-ins, checked against a model that was really changed."""

import copy
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from toys import Photograph, batches, logits, made

import tent
from tent import norm


def bn_net() -> nn.Module:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
    net[1].running_mean.uniform_(-1, 1)
    net[1].running_var.uniform_(0.5, 2)
    return net.eval()


def by_hand(net: nn.Module, x: Tensor, mean: Tensor, var: Tensor) -> Tensor:
    changed = copy.deepcopy(net)
    changed[1].running_mean.copy_(mean)
    changed[1].running_var.copy_(var)
    with torch.no_grad():
        return changed(x)


def moments(net: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    with torch.no_grad():
        var, mean = torch.var_mean(net[0](x), (0, 2, 3), correction=0)
    return mean, var


@pytest.mark.parametrize(
    ("stats", "share"),
    [
        (norm.Source(), 0.0),
        (norm.Batch(), 1.0),
        (norm.Blend(0.25), 0.25),
        (norm.Blend(0.0), 0.0),
        (norm.Blend(1.0), 1.0),
        (norm.Prior(18), 0.25),
        (norm.Prior(0), 1.0),
        (norm.Running(0.25), 0.25),
    ],
)
def test_the_statistics_are_the_chosen_share(stats: norm.Stats, share: float) -> None:
    net, x = bn_net(), batches(1)[0]
    mean, var = moments(net, x)
    prior, spread = net[1].running_mean, net[1].running_var
    expected = by_hand(net, x, prior + share * (mean - prior), spread + share * (var - spread))
    found = tent.adapt(net, tent.BN() if share else tent.Source(), stats=stats)(x)
    assert torch.allclose(found, expected, atol=1e-5)


def test_a_running_average_follows_the_stream() -> None:
    net, stream = bn_net(), batches(3)
    adapted = tent.adapt(net, tent.BN(), stats=norm.Running(0.5))
    mean, var = net[1].running_mean.clone(), net[1].running_var.clone()
    for x in stream:
        own, spread = moments(net, x)
        mean, var = mean.lerp(own, 0.5), var.lerp(spread, 0.5)
        assert torch.allclose(adapted(x), by_hand(net, x, mean, var), atol=1e-5)
    delta = adapted.delta().tensors
    assert torch.allclose(delta["1.running_mean"], mean, atol=1e-6)
    assert delta.keys() == {"1.running_mean", "1.running_var"}


def test_gradients_pass_through_blended_statistics() -> None:
    """A blend of everything is the batch: the same update as torch's own batch norm makes."""
    net, x = bn_net(), batches(1)[0]
    one, two = tent.adapt(net, stats=norm.Batch(), lr=0.1), tent.adapt(net, stats=norm.Blend(1 - 1e-7), lr=0.1)
    for adapted in (one, two):
        adapted(x)
    for p, q in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.allclose(p, q, atol=1e-4)


@pytest.mark.parametrize("bad", [lambda: norm.Blend(2), lambda: norm.Running(-1), lambda: norm.Prior(-1)])
def test_impossible_statistics_are_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match="must be"):
        bad()


def test_one_value_a_channel_is_said_with_the_layers_name() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).eval()
    adapted = tent.adapt(net)
    with pytest.raises(ValueError, match=r"batch norm '1' was given \(1, 4\), one value a channel.*Prior"):
        adapted(torch.randn(1, 3))
    tent.adapt(net, stats=norm.Prior(16))(torch.randn(1, 3))


class Functional(nn.Module):
    """Calls that reach batch norm by every road."""

    def __init__(self, road: str) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.rand(3)), nn.Parameter(torch.rand(3))
        self.register_buffer("running_mean", torch.rand(3))
        self.register_buffer("running_var", torch.rand(3))
        self.road = road

    def forward(self, x: Tensor) -> Tensor:
        m, v, w, b = self.running_mean, self.running_var, self.weight, self.bias
        match self.road:
            case "functional":
                return F.batch_norm(x, m, v, w, b).mean((2, 3))
            case "keywords":
                return F.batch_norm(x, m, v, weight=w, bias=b, training=False, eps=1e-5).mean((2, 3))
            case "positions":
                return F.batch_norm(x, m, v, w, b, False, 0.1, 1e-5).mean((2, 3))
            case "torch":
                return torch.batch_norm(x, w, b, m, v, False, 0.1, 1e-5, False).mean((2, 3))
            case "aten":
                return torch.ops.aten.batch_norm.default(x, w, b, m, v, False, 0.1, 1e-5, False).mean((2, 3))
            case _:
                return F.batch_norm(x, m, v, w, b, training=True).mean((2, 3))


@pytest.mark.parametrize("road", ["functional", "keywords", "positions", "torch", "aten", "training"])
def test_every_road_to_batch_norm_is_seen_and_writes_nothing(road: str) -> None:
    torch.manual_seed(0)
    net, x = Functional(road), batches(1)[0]
    photograph = Photograph(net)
    expected = F.batch_norm(x, None, None, net.weight, net.bias, training=True).mean((2, 3))
    adapted = tent.adapt(net, select=lambda model: ["weight", "bias"])
    assert torch.allclose(adapted(x), expected, atol=1e-6)
    adapted(x)
    photograph.check()


@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("stats", [norm.Source(), norm.Batch(), norm.Blend(0.5)])
def test_instance_norm_by_its_own_or_by_the_sources_statistics(tracked: bool, stats: norm.Stats) -> None:
    torch.manual_seed(0)
    layer = nn.InstanceNorm2d(3, affine=True, track_running_stats=tracked)
    if tracked:
        layer.running_mean.uniform_(-1, 1)
        layer.running_var.uniform_(0.5, 2)
    net = nn.Sequential(layer, nn.Conv2d(3, 4, 3)).eval()
    x = batches(1)[0]
    mean, var = x.mean((2, 3), keepdim=True), x.var((2, 3), correction=0, keepdim=True)
    if tracked:
        share = stats.share(norm.NormLayer("", torch.zeros(4), None, instances=True), torch.zeros(1, 4))
        prior, spread = layer.running_mean[:, None, None], layer.running_var[:, None, None]
        mean, var = prior + share * (mean - prior), spread + share * (var - spread)
    expected = net[1]((x - mean) * torch.rsqrt(var + layer.eps))
    assert torch.allclose(tent.adapt(net, stats=stats)(x), expected, atol=1e-5)


@pytest.mark.skipif(torch.__version__ < "2.5", reason="its exports are taken apart below batch_norm")
def test_an_exported_program_adapts_too() -> None:
    net, x = made("residual"), batches(1)[0]
    program = torch.export.export(net, (x,)).module()
    ours, theirs = (
        tent.adapt(program, select=lambda m: tent.select.everything(m)),
        tent.adapt(net, select=tent.select.everything),
    )
    for x in batches(3):
        assert torch.allclose(logits(ours(x)), logits(theirs(x)), atol=1e-5)


class Checkpointed(nn.Module):
    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Any:
        return checkpoint(self.net, x, use_reentrant=False)


@pytest.mark.parametrize("stats", [norm.Batch(), norm.Running(0.3)])
def test_checkpointed_blocks_are_run_again_as_the_first_time(stats: norm.Stats) -> None:
    plain, checkpointed = (
        tent.adapt(made("conv"), stats=stats),
        tent.adapt(Checkpointed(made("conv").train()), stats=stats),
    )
    for x in batches(4):
        assert torch.equal(plain(x), checkpointed(x))


def test_parameters_inside_lists_are_replaced() -> None:
    class Lists(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Parameter(torch.zeros(3)), nn.Parameter(torch.zeros(3))

        def forward(self, x: Tensor) -> Tensor:
            return x + torch.stack([self.one, self.two]).sum(0) + torch.cat(tensors=(self.one, self.two))[:3]

    adapted = tent.adapt(Lists(), select=tent.select.everything, lr=0.1)
    before = adapted(torch.eye(3))
    assert not torch.equal(adapted(torch.eye(3)), before)


def test_a_recurrent_net_adapts_all_its_weights() -> None:
    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.norm, self.fc = nn.LSTM(3, 8, batch_first=True), nn.LayerNorm(8), nn.Linear(8, 4)

        def forward(self, x: Tensor) -> Tensor:
            return self.fc(self.norm(self.lstm(x)[0][:, -1]))

    net = Recurrent()
    photograph = Photograph(net)
    adapted = tent.adapt(net, select=tent.select.everything)
    adapted(torch.randn(5, 6, 3))
    source = net.state_dict()
    assert all(not torch.equal(p, source[name]) for name, p in adapted.named_parameters())
    photograph.check()


def test_multihead_attention_takes_the_adapted_path() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    net = nn.Sequential(layer, nn.Flatten(), nn.Linear(24, 4)).eval()
    adapted = tent.adapt(net, select=tent.select.everything)
    x = torch.randn(5, 3, 8)
    adapted(x)
    changed = copy.deepcopy(net)
    changed.load_state_dict(adapted.state_dict(), strict=False)
    with adapted.paused(), torch.no_grad():
        assert torch.allclose(adapted(x), changed(x), atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("stats", [norm.Batch(), norm.Prior(4), norm.Source()])
def test_other_dtypes_adapt_in_at_least_single_precision(dtype: torch.dtype, stats: norm.Stats) -> None:
    net, x = made("conv").to(dtype), batches(1)[0].to(dtype)
    adapted = tent.adapt(net, stats=stats)
    assert adapted(x).dtype == dtype
    wide = torch.promote_types(dtype, torch.float32)
    source = net.state_dict()
    for name, p in adapted.named_parameters():
        assert p.dtype == wide
        assert not torch.equal(p, source[name].to(wide)), name


def test_autocast_works_and_learns() -> None:
    adapted, plain = tent.adapt(made("conv")), tent.adapt(made("conv"))
    for x in batches(3):
        with torch.autocast("cpu", torch.bfloat16):
            ours = adapted(x)
        assert ours.dtype == torch.bfloat16
        assert torch.allclose(ours.float(), plain(x), atol=0.1)
    assert adapted.updates == 3


def test_float_gradients_never_reach_the_source() -> None:
    net = made("conv")
    x = batches(1)[0].requires_grad_()
    tent.adapt(net)(x)
    assert x.grad is None
    assert all(p.grad is None for p in net.parameters())
