"""What is added to a card after its training: the errors under BN on the held-out types."""

import json

import pytest

from tent.data.corruptions import HELD_OUT
from tent.train import Recipe, train
from tent.train.measure import add_held_out_errors

RECIPE = Recipe("r26", "cifar10", epochs=2, batch=48, precision="float32")


def test_a_card_has_its_curve_and_gets_its_errors_on_the_held_out_types_once(root, tmp_path):
    out = tmp_path / "one"
    card = train(RECIPE, out, root=root)
    assert [point["epoch"] for point in card["curve"]] == [1, 2]
    assert card["curve"][-1] == {
        "epoch": 2,
        "loss": pytest.approx(card["train_loss"], abs=1e-5),
        "error": pytest.approx(card["train_error"], abs=1e-5),
    }
    more = add_held_out_errors(out, root)
    assert more == json.loads((out / "card.json").read_text())
    assert tuple(more["held_out"]["errors"]) == HELD_OUT
    assert all(0 <= error <= 1 for error in more["held_out"]["errors"].values())
    assert more["held_out"]["mean"] == pytest.approx(sum(more["held_out"]["errors"].values()) / 4, abs=1e-6)
    assert {name: value for name, value in more.items() if name != "held_out"} == json.loads(json.dumps(card))
    before = (out / "card.json").stat().st_mtime_ns
    assert add_held_out_errors(out, root) == more
    assert (out / "card.json").stat().st_mtime_ns == before


def test_what_has_no_card_or_no_corruptions_is_refused(root, tmp_path, target):
    with pytest.raises(FileNotFoundError, match="there is no card; name a folder of a finished training"):
        add_held_out_errors(tmp_path, root)
    (tmp_path / "card.json").write_text(json.dumps({"recipe": {"data": "mnist"}}))
    with pytest.raises(ValueError, match="trained on mnist, which no corruption benchmark is made from"):
        add_held_out_errors(tmp_path, root)
