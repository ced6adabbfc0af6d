"""The oracle: cross-entropy to the labels of the batch at hand, online and offline, and nowhere else."""

from pathlib import Path

import pytest
import tiny
import torch
import torch.nn.functional as F

from tent.bench.execute.adapted_cache import AdaptedCache
from tent.bench.execute.inputs import build_stream, load_entry
from tent.bench.execute.run_case import run_case


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny.laid_out(tmp_path)


def by_hand(folder: Path, epochs: int) -> tuple[dict[str, float], dict[str, float]]:
    """Plain torch: batch statistics, Adam on γ and β, cross-entropy; the metrics online and offline."""
    case = tiny.case(folder)
    entry = load_entry(case.model)
    model = type(entry.model)()
    model.load_state_dict(entry.model.state_dict())
    model.bn.track_running_stats, model.bn.running_mean, model.bn.running_var = False, None, None
    model.requires_grad_(False)
    moving = [model.bn.weight.requires_grad_(), model.bn.bias.requires_grad_()]
    optimizer = torch.optim.Adam(moving, lr=0.05)
    batches = [(x, y) for x, y, _ in build_stream(case, case.data, entry)]
    for _ in range(epochs):
        online = []
        for x, y in batches:
            logits = model(x)
            online.append(logits.detach().numpy())
            optimizer.zero_grad()
            F.cross_entropy(logits, y).backward()
            optimizer.step()
    labels = [y.numpy() for _, y in batches]
    with torch.no_grad():
        offline = [model(x).numpy() for x, _ in batches]
    return tiny.measure(online, labels), tiny.measure(offline, labels)


@pytest.mark.parametrize("epochs", [1, 3])
def test_it_is_supervised_learning_of_gamma_and_beta(folder: Path, epochs: int) -> None:
    online, offline = by_hand(folder, epochs)
    for when, expected in (("online", online), ("offline", offline)):
        result = run_case(tiny.case(folder, method="oracle", optimizer="adam", lr=0.05, when=when, epochs=epochs))
        assert result.metrics == pytest.approx(expected, abs=1e-5)
        assert result.protocol["method"] == "Oracle()"
        assert result.protocol["labels"] == "revealed with every batch that is updated on: a bound, not a method"
        assert result.peak_memory


def test_labels_make_it_better_than_entropy(folder: Path) -> None:
    oracle, tent_ = (run_case(tiny.case(folder, method=name, lr=0.05, epochs=5)) for name in ("oracle", "tent"))
    assert oracle.metrics["cross_entropy"] < tent_.metrics["cross_entropy"]
    assert "labels" not in tent_.protocol


def test_episodes_see_their_own_labels(folder: Path) -> None:
    result = run_case(tiny.case(folder, method="oracle", reset="batch", lr=0.05, answers="after"))
    assert result.metrics["cross_entropy"] < run_case(tiny.case(folder, method="bn")).metrics["cross_entropy"]


def test_what_it_learnt_online_serves_offline(folder: Path) -> None:
    cache = AdaptedCache(folder / ".learnt")
    case = tiny.case(folder, method="oracle", lr=0.05)
    run_case(case, cache=cache)
    offline = tiny.case(folder, method="oracle", lr=0.05, when="offline")
    assert run_case(offline, cache=cache).metrics == run_case(offline).metrics
