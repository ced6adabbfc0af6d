"""The memory of a step: the most bytes that torch has allocated at once for it."""

import os
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from tent.adapted import Adapted
from tent.engine.structures import Inputs, list_tensors


def measure_peak_memory(adapted: Adapted, inputs: Inputs) -> int:
    """Return the peak of the bytes that a call allocates, weights and the batch itself not counted."""
    args, kwargs = inputs
    adapted(*args, **kwargs)  # the first call is also checked against torch's own functions
    device = next((tensor.device for tensor in list_tensors(inputs)), torch.device("cpu"))
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        adapted(*args, **kwargs)
        torch.cuda.synchronize(device)
        return int(torch.cuda.max_memory_allocated(device) - before)
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # it remarks on the want of a GPU
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        adapted(*args, **kwargs)
    buffers = adapted.state.setup.execution.buffers  # numpy's memory, which torch's profiler does not see
    return peak_bytes(seen) + (buffers.bytes if buffers else 0)


def peak_bytes(seen: profile) -> int:
    """Return the most bytes that torch had allocated at once while a profiler looked on."""
    recorded: Any = seen.profiler and seen.profiler.kineto_results
    if recorded is None:
        raise RuntimeError("torch's profiler left nothing behind")
    events = sorted((e for e in recorded.events() if e.name() == "[memory]"), key=lambda event: event.start_ns())
    now = most = 0
    for event in events:
        now += event.nbytes()
        most = max(most, now)
    return most
