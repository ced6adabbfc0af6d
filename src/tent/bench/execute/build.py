"""From the words of a case to objects: the method, what moves, whose statistics, the optimizer."""

from functools import partial

import torch

from tent import norm, select
from tent.adapted import Adapted, adapt
from tent.bench.case import Case, find_method
from tent.method import Method, OptimizerFactory
from tent.methods import with_pixels
from tent.models.entry import Entry
from tent.select import Select

SELECTS: dict[str, Select] = {
    "norm_affine": select.norm_affine,
    "last_layer": select.last_layer,
    "feature_layers": select.feature_layers,
    "everything": select.everything,
    "nothing": select.nothing,
}
OPTIMIZERS: dict[str, OptimizerFactory] = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}


def build_adapted(case: Case, entry: Entry) -> Adapted:
    """Return the model under the adaptation that a case describes."""
    return adapt(
        entry.model,
        with_pixels(build_method(case), entry.preprocess.mean, entry.preprocess.std),
        select=find_select(case.select),
        stats=None if case.stats is None else norm.by_name(case.stats),
        optimizer=find_optimizer(case.optimizer, case.momentum),
        lr=case.lr,
        steps=case.steps,
        episodic=case.reset == "batch",
        answers=case.answers,  # type: ignore[arg-type]  # adapt looks at it
    )


def build_method(case: Case) -> Method:
    """Return the method with its options."""
    if case.choose:
        raise ValueError(f"{case.method}'s {', '.join(case.choose)} has not been chosen yet")
    found = find_method(case.method)
    try:
        return found(**case.options)
    except TypeError as error:
        raise ValueError(f"{case.method} with {dict(case.options)}: {error}") from None


def find_select(word: str | None) -> Select | None:
    """Return what moves: a name in SELECTS, or all_but:NAME[,NAME]."""
    if word is None:
        return None
    name, _, parts = word.partition(":")
    if name == "all_but" and parts:
        return select.all_but(*parts.split(","))
    if word not in SELECTS:
        raise ValueError(f"select {word!r}: choose from {', '.join(SELECTS)} and all_but:NAME")
    return SELECTS[word]


def find_optimizer(word: str | None, momentum: float | None) -> OptimizerFactory | None:
    """Return an optimizer's class, with its momentum where one is given."""
    if word is None:
        if momentum is not None:
            raise ValueError(f"momentum {momentum} without an optimizer; name sgd")
        return None
    if word not in OPTIMIZERS:
        raise ValueError(f"optimizer {word!r}: choose from {', '.join(OPTIMIZERS)}")
    if momentum is None:
        return OPTIMIZERS[word]
    if word != "sgd":
        raise ValueError(f"momentum {momentum} is for sgd, not for {word}")
    return partial(OPTIMIZERS[word], momentum=momentum)
