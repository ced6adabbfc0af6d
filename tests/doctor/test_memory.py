import torch
from torch import nn

from tent.doctor.memory import nbytes, readable, saved_bytes


def test_saved_bytes_are_those_added_up_by_hand() -> None:
    net = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 5))
    x = torch.randn(4, 10)
    with saved_bytes(net.parameters()) as count:
        out = net(x).sum()
    # the first layer keeps x, the ReLU keeps its output, and the second layer keeps that same storage
    assert count.bytes == 4 * (4 * 10 + 4 * 20)
    out.backward()
    with saved_bytes([*net.parameters(), x]) as count:
        net(x)
    assert count.bytes == 4 * 4 * 20


def test_bytes_of_tensors_and_how_they_are_written() -> None:
    assert nbytes([torch.zeros(3), torch.zeros(2, dtype=torch.float64)]) == 28
    assert [readable(n) for n in (0, 999, 1500, 25_300_000, 258_000_000, 3_200_000_000_000)] == [
        "0 B",
        "999 B",
        "1.5 kB",
        "25.3 MB",
        "258 MB",
        "3200 GB",
    ]
