"""Two processes on a SyncBatchNorm model act as one batch."""

import json
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from reference import PlainTTT
from torch import nn
from toys import batches, made

import tent
from tent import norm
from tent.engine.state import State

BAD = 2  # the batch whose second half is spoilt


def stream() -> list[torch.Tensor]:
    return batches(4, size=12)


def work(rank: int, folder: str, method: tent.Method, stats: norm.Stats) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    warnings.simplefilter("ignore")
    net = nn.SyncBatchNorm.convert_sync_batchnorm(made("conv"))
    adapted = tent.adapt(net, method, stats=stats, lr=0.01)
    answers = []
    for i, x in enumerate(stream()):
        half = x[rank * 6 :][:6].clone()
        if i == BAD and rank == 1:
            half[0] = torch.nan
        answers.append(adapted(half))
    torch.save((answers, adapted.state_dict(), adapted.skipped), f"{folder}/{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


@pytest.mark.parametrize("method", [tent.Tent(), tent.PL(threshold=0.35)], ids=repr)
@pytest.mark.parametrize("stats", [norm.Batch(), norm.Running(0.4)], ids=repr)
def test_two_ranks_are_one_batch(tmp_path: Path, method: tent.Method, stats: norm.Stats) -> None:
    mp.spawn(work, (str(tmp_path), method, stats), nprocs=2)
    (one, state, skipped), (two, other, _) = (
        torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2)
    )
    single = tent.adapt(made("conv"), method, stats=stats, lr=0.01)
    for i, x in enumerate(stream()):
        if i != BAD:
            whole = single(x)
            if isinstance(method, tent.Tent):  # PL's mean is over each rank's own confident predictions
                assert torch.allclose(torch.cat([one[i], two[i]]), whole, atol=1e-4)
    assert skipped == 1
    for name, tensor in state.items():
        assert torch.equal(tensor, other[name])
        if isinstance(method, tent.Tent):
            assert torch.allclose(tensor, single.state_dict()[name], atol=1e-4)


def part(rank: int, folder: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    raised = []
    for losses in ((torch.nan, 1e3), (1.0, 1e3)):  # one rank's loss is not finite, then each of them is
        param = torch.ones(3, requires_grad=True)
        setup = SimpleNamespace(source=SimpleNamespace(groups={"": dist.group.WORLD}))
        state = State(setup, {"w": param}, scale=2.0**126)
        try:
            state.backward((param * losses[rank]).sum())
        except ArithmeticError as error:
            raised.append((type(error).__name__, state.scale, param.grad is None))
    Path(folder, f"{rank}.json").write_text(json.dumps(raised))
    dist.barrier()
    dist.destroy_process_group()


def test_two_ranks_scale_down_together_or_pass_a_batch_over_together(tmp_path: Path) -> None:
    mp.spawn(part, (str(tmp_path),), nprocs=2)
    one, two = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2))
    assert one == two == [["NotFiniteError", 2.0**126, True], ["ScaledTooFarError", 2.0**124, True]]


def turn(rank: int, folder: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    net = nn.SyncBatchNorm.convert_sync_batchnorm(made("batch-norm-two-heads"))
    adapted = tent.adapt(net, tent.TTT(), lr=0.05)
    answers = [adapted(x[rank * 6 :][:6]) for x in stream()]
    torch.save((answers, adapted.state_dict()), f"{folder}/{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


def test_two_ranks_learn_from_turns_of_their_own_as_one_batch(tmp_path: Path) -> None:
    mp.spawn(turn, (str(tmp_path),), nprocs=2)
    (one, state), (two, other) = (torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2))
    plain = PlainTTT(made("batch-norm-two-heads"), tent.TTT(), 0.05)
    for x, *halves in zip(stream(), one, two, strict=True):
        assert torch.allclose(torch.cat(halves), plain.step(x, ranks=2), atol=1e-4)
    for name, tensor in state.items():
        assert torch.equal(tensor, other[name])
        assert torch.allclose(tensor, dict(plain.model.named_parameters())[name], atol=1e-4)


def lack(rank: int, folder: str, stats: norm.Stats) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    warnings.simplefilter("ignore")
    adapted = tent.adapt(nn.SyncBatchNorm.convert_sync_batchnorm(made("conv")), stats=stats, lr=0.01)
    first, second, third = (x[rank * 6 :][:6] for x in stream()[:3])
    answers = [adapted(first), adapted(second[:0] if rank == 1 else second), adapted(third)]
    torch.save((answers, adapted.state_dict(), adapted.skipped), f"{folder}/{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


@pytest.mark.parametrize("stats", [norm.Batch(), norm.Prior(8), norm.Running(0.4), norm.Source()], ids=repr)
def test_a_batch_that_is_empty_on_one_rank_is_skipped_on_all(tmp_path: Path, stats: norm.Stats) -> None:
    mp.spawn(lack, (str(tmp_path), stats), nprocs=2)
    (one, state, skipped), (two, other, _) = (
        torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2)
    )
    assert [len(answer) for answer in one] == [6, 6, 6]
    assert [len(answer) for answer in two] == [6, 0, 6]
    assert skipped == 1
    assert all(answer.isfinite().all() for answer in (*one, *two))
    assert all(torch.equal(state[name], other[name]) for name in state)
