"""Two processes on a SyncBatchNorm model act as one batch; one pair of them does all the work, since starting is slow."""

import json
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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
METHODS = [tent.Tent(), tent.PL(threshold=0.35)]
FOLLOWED = [norm.Batch(), norm.Running(0.4)]
ALL_STATS = [norm.Batch(), norm.Prior(8), norm.Running(0.4), norm.Source()]


def stream() -> list[torch.Tensor]:
    return batches(4, size=12)


def work(rank: int, folder: Path, method: tent.Method, stats: norm.Stats) -> None:
    warnings.simplefilter("ignore")
    net = nn.SyncBatchNorm.convert_sync_batchnorm(made("conv"))
    adapted = tent.adapt(net, method, stats=stats, lr=0.01)
    answers = []
    for i, x in enumerate(stream()):
        half = x[rank * 6 :][:6].clone()
        if i == BAD and rank == 1:
            half[0] = torch.nan
        answers.append(adapted(half))
    torch.save((answers, adapted.state_dict(), adapted.skipped), folder / f"{rank}.pt")


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("stats", FOLLOWED, ids=repr)
def test_two_ranks_are_one_batch(ranks: Path, method: tent.Method, stats: norm.Stats) -> None:
    (one, state, skipped), (two, other, _) = load(ranks / f"work {method} {stats}")
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


def part(rank: int, folder: Path) -> None:
    raised = []
    for losses in ((torch.nan, 1e3), (1.0, 1e3)):  # one rank's loss is not finite, then each of them is
        param = torch.ones(3, requires_grad=True)
        setup = SimpleNamespace(source=SimpleNamespace(groups={"": dist.group.WORLD}))
        state = State(setup, {"w": param}, scale=2.0**126)
        try:
            state.backward((param * losses[rank]).sum())
        except ArithmeticError as error:
            raised.append((type(error).__name__, state.scale, param.grad is None))
    (folder / f"{rank}.json").write_text(json.dumps(raised))


def test_two_ranks_scale_down_together_or_pass_a_batch_over_together(ranks: Path) -> None:
    one, two = (json.loads((ranks / "part" / f"{rank}.json").read_text()) for rank in range(2))
    assert one == two == [["NotFiniteError", 2.0**126, True], ["ScaledTooFarError", 2.0**124, True]]


def turn(rank: int, folder: Path) -> None:
    net = nn.SyncBatchNorm.convert_sync_batchnorm(made("batch-norm-two-heads"))
    adapted = tent.adapt(net, tent.TTT(), lr=0.05)
    answers = [adapted(x[rank * 6 :][:6]) for x in stream()]
    torch.save((answers, adapted.state_dict()), folder / f"{rank}.pt")


def test_two_ranks_learn_from_turns_of_their_own_as_one_batch(ranks: Path) -> None:
    (one, state), (two, other) = load(ranks / "turn")
    plain = PlainTTT(made("batch-norm-two-heads"), tent.TTT(), 0.05)
    for x, *halves in zip(stream(), one, two, strict=True):
        assert torch.allclose(torch.cat(halves), plain.step(x, ranks=2), atol=1e-4)
    for name, tensor in state.items():
        assert torch.equal(tensor, other[name])
        assert torch.allclose(tensor, dict(plain.model.named_parameters())[name], atol=1e-4)


def lack(rank: int, folder: Path, stats: norm.Stats) -> None:
    warnings.simplefilter("ignore")
    adapted = tent.adapt(nn.SyncBatchNorm.convert_sync_batchnorm(made("conv")), stats=stats, lr=0.01)
    first, second, third = (x[rank * 6 :][:6] for x in stream()[:3])
    answers = [adapted(first), adapted(second[:0] if rank == 1 else second), adapted(third)]
    torch.save((answers, adapted.state_dict(), adapted.skipped), folder / f"{rank}.pt")


@pytest.mark.parametrize("stats", ALL_STATS, ids=repr)
def test_a_batch_that_is_empty_on_one_rank_is_skipped_on_all(ranks: Path, stats: norm.Stats) -> None:
    (one, state, skipped), (two, other, _) = load(ranks / f"lack {stats}")
    assert [len(answer) for answer in one] == [6, 6, 6]
    assert [len(answer) for answer in two] == [6, 0, 6]
    assert skipped == 1
    assert all(answer.isfinite().all() for answer in (*one, *two))
    assert all(torch.equal(state[name], other[name]) for name in state)


def do_all(rank: int, folder: str) -> None:
    """Do the work of every test, each in a folder of its own."""
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    jobs = {f"work {method} {stats}": (work, method, stats) for method in METHODS for stats in FOLLOWED}
    jobs |= {"part": (part,), "turn": (turn,), **{f"lack {stats}": (lack, stats) for stats in ALL_STATS}}
    for name, (job, *arguments) in jobs.items():
        (own := Path(folder, name)).mkdir(exist_ok=True)
        with warnings.catch_warnings():
            job(rank, own, *arguments)
        dist.barrier()
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    mp.spawn(do_all, (str(folder),), nprocs=2)
    return folder


def load(folder: Path) -> list[Any]:
    return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in range(2)]
