"""What one case has learnt serves another that learns alike, and only that."""

from dataclasses import replace
from pathlib import Path

import pytest
import tiny
from safetensors.torch import load_file, save_file

from tent.adapted import Adapted
from tent.bench.execute import adapted_cache
from tent.bench.execute.adapted_cache import AdaptedCache
from tent.bench.execute.run_case import run_case
from tent.environment import provenance


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny.laid_out(tmp_path)


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the calls that learn offline."""
    calls: list[int] = []
    fit = Adapted.fit
    monkeypatch.setattr(Adapted, "fit", lambda self, *args, **more: calls.append(1) or fit(self, *args, **more))
    return calls


@pytest.mark.parametrize("epochs", [1, 3])
def test_offline_goes_on_from_what_online_has_learnt(folder: Path, fits: list[int], epochs: int) -> None:
    online = tiny.case(folder, epochs=epochs, lr=0.05)
    offline = replace(online, when="offline")
    alone = run_case(offline)
    fits.clear()
    cache = AdaptedCache(folder / ".learnt")
    first = run_case(online, cache=cache)
    fits.clear()
    shared = run_case(offline, cache=cache)
    assert not fits
    assert shared.metrics == alone.metrics
    assert shared.protocol == alone.protocol
    assert shared.counts == alone.counts  # as if it had learnt by itself
    assert shared.seconds > first.seconds  # what was learnt once is counted in both


def test_another_case_learns_for_itself(folder: Path, fits: list[int]) -> None:
    cache = AdaptedCache(folder / ".learnt")
    run_case(tiny.case(folder, lr=0.05), cache=cache)
    for change in ({"lr": 0.1}, {"seed": 1}, {"epochs": 2}, {"method": "pl"}, {"batch_size": 8}):
        fits.clear()
        run_case(replace(tiny.case(folder, lr=0.05), when="offline", **change), cache=cache)
        assert fits, change


def test_a_damaged_lesson_is_learnt_again(folder: Path, fits: list[int]) -> None:
    cache = AdaptedCache(folder / ".learnt")
    case = tiny.case(folder, lr=0.05)
    run_case(case, cache=cache)
    (file,) = (folder / ".learnt").iterdir()
    file.write_bytes(b"half a fi")
    fits.clear()
    assert (
        run_case(replace(case, when="offline"), cache=cache).metrics == run_case(replace(case, when="offline")).metrics
    )
    assert fits


def test_a_case_that_learns_nothing_leaves_nothing(folder: Path) -> None:
    run_case(tiny.case(folder, method="bn"), cache=AdaptedCache(folder / ".learnt"))
    assert not (folder / ".learnt").exists()


@pytest.mark.parametrize("changes", [{"answers": "after"}, {"reset": "domain"}, {"method": "my.py:Quiet"}])
def test_what_is_not_in_tensors_or_took_other_passes_is_not_kept(
    folder: Path, changes: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "my.py").write_text("import tent\n\n\nclass Quiet(tent.Tent):\n    pass\n")
    run_case(tiny.case(folder, **changes), cache=AdaptedCache(folder / ".learnt"))
    assert not (folder / ".learnt").exists()


def test_offline_answers_after_are_kept_for_others_that_learn_offline(folder: Path, fits: list[int]) -> None:
    cache = AdaptedCache(folder / ".learnt")
    case = tiny.case(folder, when="offline", answers="after", lr=0.05)
    first = run_case(case, cache=cache)
    fits.clear()
    second = run_case(case, cache=cache)
    assert not fits
    assert (second.metrics, second.counts) == (first.metrics, first.counts)


@pytest.mark.parametrize(
    "change", [{"sources": "f" * 64}, {"versions": {"torch": "1.0"}}, {"hardware": "a processor, 64 threads"}]
)
def test_what_was_learnt_elsewhere_is_learnt_again(
    folder: Path, fits: list[int], monkeypatch: pytest.MonkeyPatch, change: dict[str, object]
) -> None:
    cache, case = AdaptedCache(folder / ".learnt"), tiny.case(folder, lr=0.05)
    with monkeypatch.context() as patch:
        patch.setattr(adapted_cache, "provenance", lambda device: {**provenance(device), **change})
        run_case(case, cache=cache)
    for expected in (3, 0):  # batches: then it is kept as of here
        fits.clear()
        run_case(replace(case, when="offline"), cache=cache)
        assert len(fits) == expected


@pytest.mark.parametrize("error", [RuntimeError, ValueError, KeyError])
def test_a_state_that_does_not_load_is_learnt_again(
    folder: Path, fits: list[int], monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(*args: object) -> None:
        raise error("it is of another model")

    cache, case = AdaptedCache(folder / ".learnt"), tiny.case(folder, lr=0.05)
    run_case(case, cache=cache)
    offline = replace(case, when="offline")
    expected = run_case(offline)
    fits.clear()
    monkeypatch.setattr(Adapted, "load_state_dict", fail)
    found = run_case(offline, cache=cache)
    assert fits
    assert (found.metrics, found.counts) == (expected.metrics, expected.counts)


def test_a_file_without_its_metadata_is_learnt_again(folder: Path, fits: list[int]) -> None:
    cache, case = AdaptedCache(folder / ".learnt"), tiny.case(folder, lr=0.05)
    run_case(case, cache=cache)
    (file,) = (folder / ".learnt").iterdir()
    for metadata in (None, {"seconds": "1.0"}, {"learnt": "[]"}):
        save_file(load_file(file), file, metadata)
        fits.clear()
        run_case(replace(case, when="offline"), cache=cache)
        assert fits
