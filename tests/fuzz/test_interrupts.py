"""Interrupts at any moment: the state is that of before or of after the call, and nothing is left behind."""

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
from own_methods import Sharpness, Teacher
from torch.overrides import _get_current_function_mode_stack
from toys import Photograph, batches, made

import tent

POINTS = int(os.environ.get("TENT_INTERRUPTS", "12"))  # interrupts a setting
SETTINGS: dict[str, tuple[tent.Method, dict[str, Any]]] = {
    "tent": (tent.Tent(), {"lr": 0.1}),
    "plain": (tent.Tent(), {"lr": 0.1, "lean": False}),
    "after": (tent.Tent(), {"lr": 0.1, "answers": "after", "steps": 2}),
    "running": (tent.Tent(), {"lr": 0.1, "stats": tent.norm.Running(0.3)}),
    "episodic": (tent.Tent(), {"lr": 0.1, "episodic": True, "steps": 2}),
    "teacher": (Teacher(), {"lr": 0.1}),
    "sharpness": (Sharpness(), {"lr": 0.1}),
}


def run_until(work: Callable[[], Any], seconds: float) -> bool:
    """Run, with a real interrupt after so many seconds; tell whether it came in time."""
    main, over = threading.get_ident(), threading.Event()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def wait() -> None:
        if not over.wait(seconds):
            signal.pthread_kill(main, signal.SIGUSR1)

    before, thread = signal.signal(signal.SIGUSR1, interrupt), threading.Thread(target=wait)
    try:
        try:
            thread.start()
            work()
        finally:
            over.set()
            thread.join()
    except KeyboardInterrupt:
        return True
    finally:
        signal.signal(signal.SIGUSR1, before)
    return False


def everything(adapted: tent.Adapted) -> dict[str, torch.Tensor]:
    moments = adapted.state.optimizer.state_dict()["state"] if adapted.state.optimizer else {}
    values = {f"{i} {name}": torch.as_tensor(v).clone() for i, own in moments.items() for name, v in own.items()}
    return {**adapted.state_dict(), **values, "step": torch.tensor(adapted.state.step)}


def equal(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> bool:
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize("name", SETTINGS)
def test_an_interrupt_leaves_the_state_of_before_or_of_after(name: str) -> None:
    method, options = SETTINGS[name]
    first, second, third = batches(3, size=64)  # long enough to be interrupted

    def fresh() -> tent.Adapted:
        adapted = tent.adapt(made("residual").train(), method, **options)
        adapted(first)
        return adapted

    undone, done = fresh(), fresh()
    before, began = everything(undone), time.perf_counter()
    done(second)
    total, after = time.perf_counter() - began, everything(done)
    next_states = []
    for twin in (undone, done):
        twin(third)
        next_states.append(everything(twin))
    generator, came = torch.Generator().manual_seed(POINTS), 0
    for _ in range(20 * POINTS):  # some come too late
        if came == POINTS:
            break
        adapted, point = fresh(), float(torch.rand((), generator=generator)) * total
        photograph = Photograph(adapted.source)
        came += run_until(lambda: adapted(second), point)  # noqa: B023
        assert _get_current_function_mode_stack() == [], point
        photograph.check()
        assert all(param.grad is None for param in adapted.parameters()), point
        now = everything(adapted)
        assert adapted.episodic or equal(now, before) or equal(now, after), point
        adapted(third)
        assert any(equal(everything(adapted), state) for state in next_states), point
    assert came
