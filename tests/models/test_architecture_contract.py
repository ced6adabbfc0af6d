"""The contract on networks unlike the toy nets: attention and equilibria."""

from collections.abc import Callable
from functools import partial

import pytest
import test_contract as contract
import toys
from settings import Setting
from torch import nn

import tent
from tent.models.architectures.equilibrium import Solver
from tent.models.architectures.mdeq import MDEQ
from tent.models.architectures.san import SAN

SEARCH = Solver(steps=3)
NETS: dict[str, Callable[[], nn.Module]] = {
    "san": lambda: SAN("pair", (1, 0, 0, 0, 0), 5, width=0.25, pools=(True, False, False, False, False)),
    "mdeq": lambda: MDEQ((8, 8), (1, 1), 4, 5, dropout=0.5, forward_solver=SEARCH, backward_solver=SEARCH),
}
PROMISES: list[Callable[[Setting, str], None]] = [
    contract.test_answers_are_the_models_own_in_shape_type_and_grad,
    partial(contract.test_the_source_model_is_never_written_to, training=True),
    contract.test_dropout_and_stochastic_depth_stay_off,
    partial(contract.test_a_bad_batch_never_changes_the_state, poison=float("nan")),
    contract.test_an_answer_that_was_handed_out_is_never_changed,
    contract.test_an_empty_batch_is_answered_and_changes_nothing,
]


@pytest.mark.filterwarnings("ignore:the equilibrium of an image was not found")  # in three steps
@pytest.mark.parametrize("net", NETS)
@pytest.mark.parametrize("promise", PROMISES, ids=lambda p: getattr(p, "func", p).__name__)
def test_tent_keeps_its_promises(
    promise: Callable[[Setting, str], None], net: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(toys.NETS, net, NETS[net])
    promise(Setting("tent", tent.Tent(), nets=(net,)), net)
