"""Memory is kept when a user asks for it, and an import does not ask."""

import subprocess
import sys

import pytest

CODE = """
import resource, torch, tent
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        torch.empty(20_000_000).fill_(1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
first = faults()
kept = tent.keep_memory()
faults(), faults()  # older versions of torch need a second round
print(kept, first > 50_000, faults() < 1_000)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc is Linux's")
def test_memory_is_handed_out_again_without_new_pages() -> None:
    ran = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert ran.stdout.split() == ["True", "True", "True"], ran.stderr


def test_elsewhere_it_says_that_it_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    from tent.environment import keep_memory

    monkeypatch.setattr(sys, "platform", "darwin")
    assert keep_memory() is False
