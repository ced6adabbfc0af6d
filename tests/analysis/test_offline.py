"""Analyses after offline passes: what the methods answer is what an offline evaluation answers."""

import numpy as np
import pytest
import torch
from analysis_streams import models, stream

import tent
from tent.analysis import Calibration, Domain, LossByLevel, Movement, analyse, compare_features
from tent.evaluate import evaluate
from tent.tasks import Classification
from tent.tasks.oracle import Oracle

PLACES = (Domain("mild", "mild", 1), Domain("strong", "strong", 2))


def test_a_domain_is_learnt_from_as_a_whole_before_it_is_answered() -> None:
    own, streams = models(), {place: stream(shift=0.5 * place.level) for place in PLACES}  # type: ignore[operator]
    found = analyse(own, streams, [LossByLevel(), Calibration(), Movement()], epochs=2)
    rows = {(row["method"], row["type"]): row for row in found["loss-by-level"].rows}
    for place, batches in streams.items():
        for name, model in models().items():
            due = evaluate(model, batches, Classification(), offline=True, epochs=2).metrics
            row = rows[name, place.type]
            seen = [row["entropy"], row["loss"], row["error"]]
            assert seen == pytest.approx([due["entropy"], due["cross_entropy"], due["error"]], abs=1e-9)
    assert own["Tent"].updates == 2 * sum(map(len, streams.values()))  # and none while the streams are answered
    online = analyse(models(), streams, [LossByLevel()])["loss-by-level"].rows
    assert [row["entropy"] for row in online] != [row["entropy"] for row in found["loss-by-level"].rows]


def test_features_are_of_models_that_learnt_offline_and_the_oracle_is_shown_its_labels() -> None:
    own, shifted = models(), stream(shift=1.0)
    net = own["Source"].source
    found = compare_features(net, own, shifted, stream(), ["1"], lr=0.1, epochs=3)
    means = {(row["view"], row["channel"]): row["mean"] for row in found.tables["channels"] if row["layer"] == "1"}
    for name, method in (("Tent", tent.Tent()), ("Oracle", Oracle())):
        adapted = tent.adapt(net, method, lr=0.1, lean=False)
        evaluate(adapted, shifted, offline=True, epochs=3)
        gamma, beta = (adapted.state.params[f"1.{own}"].detach() for own in ("weight", "bias"))
        x = [net[0](batch.inputs).detach() for batch in shifted]  # type: ignore[index]
        scaled = torch.cat([normalise(each, float(net[1].eps)) for each in x])  # type: ignore[index, union-attr]
        due = (scaled * gamma.view(1, -1, 1, 1) + beta.view(1, -1, 1, 1)).double().mean((0, 2, 3))
        assert np.allclose([means[name, i] for i in range(len(due))], due, atol=1e-5)


def normalise(x: torch.Tensor, eps: float) -> torch.Tensor:
    shape = (1, -1, 1, 1)
    spread = (x.var((0, 2, 3), unbiased=False) + eps).sqrt()
    return (x - x.mean((0, 2, 3)).view(shape)) / spread.view(shape)


def test_passes_are_counted_from_none() -> None:
    with pytest.raises(ValueError, match="epochs -1: give 0 for online, or the passes to learn from first"):
        analyse(models(), {PLACES[0]: stream()}, [LossByLevel()], epochs=-1)
