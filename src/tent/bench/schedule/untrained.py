"""Cells whose models have yet to be trained: they wait, and are no failures."""

from collections.abc import Sequence

from tent.bench.case import Case
from tent.bench.read.terms import shown
from tent.bench.suite import Cell, Suite
from tent.models.cards import TRAINED, is_trained, train_command


def waits(suite: Suite, case: Case) -> bool:
    """Tell whether a case is of a model that a suite names and nobody has trained yet."""
    own = case.model.startswith(TRAINED) and case.model != suite.model  # one that was asked for has to be there
    return own and not is_trained(case.model.removeprefix(TRAINED))


def what_to_train(cells: Sequence[Cell]) -> str:
    """Return in one line which cells wait for a training, and how the first of their models is made."""
    columns: dict[str, list[str]] = {}
    for cell in cells:
        columns.setdefault(cell.row, []).append(shown(cell.column))
    rows: dict[str, list[str]] = {}
    for row, own in columns.items():
        rows.setdefault(", ".join(dict.fromkeys(own)), []).append(row)
    said = "; ".join(f"{', '.join(names)} on {where}" for where, names in rows.items())
    models = list(dict.fromkeys(cell.case.model.removeprefix(TRAINED) for cell in cells))
    counts = f"{len(cells)} case{_s(cells)} wait{'' if len(cells) > 1 else 's'} for {len(models)} training{_s(models)}"
    return (
        f"{counts}: {said}; {'train each, such as' if len(models) > 1 else 'train it with'}: {train_command(models[0])}"
    )


def _s(things: Sequence[object]) -> str:
    return "s" if len(things) > 1 else ""
