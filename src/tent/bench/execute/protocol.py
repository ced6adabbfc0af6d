"""The protocol of a case in words: order, reset, number of images, answers, optimizer, data."""

from collections.abc import Mapping
from typing import Any

from tent.adapted import Adapted
from tent.bench.case import Case
from tent.bench.execute.oracle import Oracle
from tent.bench.read.training import budget
from tent.data.stream import Stream
from tent.method import Method


def protocol(
    case: Case, adapted: Adapted, stream: Stream, learnt: Stream, training: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """Return what was run, in words, for every number to carry."""
    engine = adapted.engine
    groups = engine.optimizer.param_groups[0] if engine.optimizer else {}
    return {
        "model": f"{case.model}, state {case.weights[:12]}",
        "data": stream.protocol,
        "order": f"shuffled by seed {case.seed}, the same for all methods",
        "images": f"{stream.total:,}",
        "batch": f"{case.batch_size} images",
        "method": repr(engine.method),
        "statistics": repr(engine.stats),
        "moves": f"{sum(p.numel() for p in adapted.parameters()):,} parameters in {len(engine.names)} tensors",
        "when": when(case),
        "reset": "before every batch" if adapted.episodic else "before the stream, never in it",
        "answers": answers(case, adapted.answers == "after", engine.method.own_pass) if engine.names else "no update",
        "steps": f"{case.steps} a batch",
        "precision": "float32",
        "optimizer": type(engine.optimizer).__name__ if engine.optimizer else "none",
        "lr": f"{groups['lr']:g}" if groups else "none",
        "updates": f"{adapted.updates:,} batches learnt from, {adapted.skipped:,} passed over",
        **_besides(case, engine.method, learnt, training or {}),
    }


def _besides(case: Case, method: Method, learnt: Stream, training: Mapping[str, Any]) -> dict[str, str]:
    """Return what only some cases have to say."""
    words: dict[str, str] = {}
    if case.momentum is not None:
        words["momentum"] = f"{case.momentum:g}"
    if isinstance(method, Oracle):
        words["labels"] = "shown with every batch that is learnt from: a bound, not a method"
    if training:
        words["training"] = budget(training)
    if case.fit is not None:
        words["learnt from"] = learnt.protocol
    return words


def when(case: Case) -> str:
    """Return in words when a case learns and when it answers."""
    passes = "one pass" if case.epochs == 1 else f"{case.epochs} passes"
    if case.when == "offline":
        return f"offline: {passes} of learning, then answers without learning"
    if case.reset == "batch":
        return "episodic: every batch by itself"
    return f"online: {passes}" + ("" if case.epochs == 1 else ", the answers of the last one are counted")


def answers(case: Case, after: bool, learnt: bool = True) -> str:
    """Return in words which pass the answers are of; `learnt` tells whether it may be the one that is learnt from."""
    if case.when == "offline":
        return "after all learning, with no update between them"
    if after:
        return "after the update, of one more pass"
    return "before the update, of the pass that it is computed on" if learnt else "before the update, of one more pass"
