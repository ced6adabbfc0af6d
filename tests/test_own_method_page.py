"""What docs/own-method.md shows runs, and keeps what the page promises."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from command import tent as run_tent
from pages import blocks, run_page
from torch import Tensor, nn

import tent


@pytest.fixture(scope="module")
def methods_page() -> dict[str, object]:
    torch.manual_seed(0)
    return run_page("docs/own-method.md")


def methods_of(names: dict[str, object]) -> list[type[tent.Method]]:
    return [
        each
        for each in names.values()
        if isinstance(each, type) and issubclass(each, tent.Method) and each.__module__ == "page"
    ]


def make(page: dict[str, object], kind: type[tent.Method]) -> tuple[tent.Adapted, Tensor]:
    model, x = page["model"], page["x"]
    assert isinstance(model, nn.Module)
    assert isinstance(x, Tensor)
    adapted = tent.adapt(model, kind(), lr=0.01)
    return adapted.prepare([x]) if kind.needs else adapted, x


METHODS = ["Sharpen", "Teacher", "Prototypes", "Sharpness", "Anchored"]


def test_all_methods_of_the_page_are_tested(methods_page: dict[str, object]) -> None:
    assert [kind.__name__ for kind in methods_of(methods_page)] == METHODS


@pytest.mark.parametrize("name", METHODS)
def test_a_method_of_the_page_learns_and_keeps_what_the_page_promises(
    methods_page: dict[str, object], name: str, tmp_path: Path
) -> None:
    kind = {each.__name__: each for each in methods_of(methods_page)}[name]
    adapted, x = make(methods_page, kind)
    source = {key: value.clone() for key, value in adapted.source.state_dict().items()}
    answers = [adapted(x), adapted(x)]
    assert adapted.updates == 2
    held = adapted.state_dict()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        adapted(x * torch.nan)
    assert adapted.skipped == 1
    assert all(torch.equal(held[key], value) for key, value in adapted.state_dict().items())
    adapted.delta().save(tmp_path / "delta")
    other, _ = make(methods_page, kind)
    other.load_delta(tmp_path / "delta")
    with adapted.paused(), other.paused():
        assert torch.equal(adapted(x), other(x))
    adapted.reset()
    assert all(torch.equal(a, adapted(x)) for a in answers)
    assert all(torch.equal(source[key], value) for key, value in adapted.source.state_dict().items())


def test_the_pages_methods_change_what_is_answered(methods_page: dict[str, object]) -> None:
    for kind in methods_of(methods_page):
        adapted, x = make(methods_page, kind)
        first = adapted(x)
        for _ in range(3):
            adapted(x)
        assert not torch.equal(first, adapted(x)), kind


def test_the_file_of_the_page_runs_from_the_command_line(tmp_path: Path) -> None:
    file = next(block for block in blocks("docs/own-method.md") if block.startswith("# sharpen.py\n"))
    (tmp_path / "sharpen.py").write_text(file, encoding="utf-8")
    np.save(tmp_path / "images.npy", np.random.default_rng(0).integers(0, 256, (40, 32, 32, 3), np.uint8))
    for number, method in enumerate(["sharpen.py:Sharpen", "sharpen.py:Sharpen:power=2"]):
        options = ["--batch", "20", "--out", f"out{number}", "--method", method]
        ran = run_tent(tmp_path, "adapt", "r26-cifar10", "images.npy", *options)
        assert ran.returncode == 0, ran.stderr
        assert f"Sharpen(power={float(number + 1)})" in (tmp_path / f"out{number}" / "summary.json").read_text()
