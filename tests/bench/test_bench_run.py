"""A run is what a plain loop over the same batches gives, to the bit, and carries its protocol."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from PIL import Image

import tent
from tent.bench.case import Case, Data
from tent.bench.execute.inputs import build_stream, count_images, load_entry, load_images, pin_case
from tent.bench.execute.run_case import run_case
from tent.data import Stream
from tent.data.order import Shuffled
from tent.data.preprocess import Preprocess
from tent.data.sets.catalog import find_set
from tent.models import zoo
from tent.models.entry import Entry


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny.laid_out(tmp_path)


def answers(adapted: tent.Adapted, stream: Stream) -> tuple[list[np.ndarray], list[np.ndarray]]:
    pairs = [(adapted(x).numpy(), y.numpy()) for x, y, _ in stream if y is not None]
    return [logits for logits, _ in pairs], [labels for _, labels in pairs]


def made(case: Case) -> tuple[torch.nn.Module, Stream]:
    entry = load_entry(case.model)
    return entry.model, Stream(load_images(case.data[0]), case.batch_size, Shuffled(case.seed), entry.preprocess)


def test_online_is_a_loop_of_calls(folder: Path) -> None:
    case = tiny.case(folder, lr=0.05, seed=3)
    model, stream = made(case)
    assert run_case(case).metrics == tiny.measure(*answers(tent.adapt(model, tent.Tent(), lr=0.05), stream))


def test_ten_epochs_online_count_the_last_pass(folder: Path) -> None:
    case = tiny.case(folder, epochs=10)
    model, stream = made(case)
    adapted = tent.adapt(model)
    for _ in range(10):
        expected = tiny.measure(*answers(adapted, stream))
    result = run_case(case)
    assert result.metrics == expected
    assert result.protocol["updates"].startswith("30 batches")
    assert result.protocol["when"] == "online: 10 passes, the answers of the last one are counted"


@pytest.mark.parametrize("epochs", [1, 3])
def test_offline_learns_first_and_answers_without_learning(folder: Path, epochs: int) -> None:
    case = tiny.case(folder, when="offline", epochs=epochs, optimizer="sgd", momentum=0.9, lr=0.1)
    model, stream = made(case)
    adapted = tent.adapt(model, optimizer=lambda p, lr: torch.optim.SGD(p, lr, momentum=0.9), lr=0.1)
    adapted.fit(stream, epochs)
    with adapted.paused():
        expected = tiny.measure(*answers(adapted, stream))
    assert run_case(case).metrics == expected


def test_episodic_forgets_every_batch(folder: Path) -> None:
    case = tiny.case(folder, reset="batch", steps=2, lr=0.1)
    model, stream = made(case)
    assert run_case(case).metrics == tiny.measure(*answers(tent.adapt(model, steps=2, lr=0.1, episodic=True), stream))


def test_learning_from_one_part_and_answering_on_another(folder: Path) -> None:
    whole = tiny.case(folder).data[0]
    first, second = replace(whole, part=(0, 24)), replace(whole, part=(24, 48))
    case = tiny.case(folder, data=(second,), fit=first, when="offline", lr=0.1, seed=5)
    model, stream = made(replace(case, data=whole))
    order = stream.indices
    images = load_images(whole)
    adapted = tent.adapt(model, lr=0.1)
    adapted.fit([tent_input(images, order[:16]), tent_input(images, order[16:24])])
    with adapted.paused():
        logits = [adapted(tent_input(images, rows)).numpy() for rows in (order[24:40], order[40:])]
    labels = [images.labels[rows] for rows in (order[24:40], order[40:])]
    result = run_case(case)
    assert result.metrics == tiny.measure(logits, labels)
    assert result.images == 24
    assert "images 24 to 48 of" in result.protocol["data"]
    assert "images 0 to 24 of" in result.protocol["fitted on"]


def tent_input(images, rows: np.ndarray) -> torch.Tensor:  # type: ignore[no-untyped-def]
    return torch.from_numpy(images.fetch(rows)).permute(0, 3, 1, 2).float().div(255).contiguous()


def test_the_axes_of_a_case_reach_the_engine(folder: Path) -> None:
    case = tiny.case(folder, select="all_but:fc", stats="blend:0.5", lr=0.1, steps=2, answers="after")
    model, stream = made(case)
    adapted = tent.adapt(
        model, select=tent.select.all_but("fc"), stats=tent.norm.Blend(0.5), lr=0.1, steps=2, answers="after"
    )
    assert run_case(case).metrics == tiny.measure(*answers(adapted, stream))


def test_a_methods_own_options_reach_it(folder: Path) -> None:
    case = tiny.case(folder, method="pl", options={"threshold": 0.8}, lr=0.1)
    model, stream = made(case)
    result = run_case(case)
    assert result.metrics == tiny.measure(*answers(tent.adapt(model, tent.PL(0.8), lr=0.1), stream))
    assert result.metrics != run_case(replace(case, options={"threshold": 0.2})).metrics


def test_the_same_case_twice_gives_the_same_bits(folder: Path) -> None:
    case = tiny.case(folder, lr=0.05, steps=2)
    first, second = run_case(case), run_case(case)
    assert (first.metrics, first.by_batch, first.case.key()) == (second.metrics, second.by_batch, second.case.key())


def test_a_result_carries_where_it_comes_from(folder: Path) -> None:
    result = run_case(tiny.case(folder, images=20))
    assert result.images == 20
    assert [len(values) for values in result.by_batch.values()] == [2] * 4
    assert result.images_per_second == pytest.approx(20 / result.seconds)
    words = result.protocol
    assert words["order"] == "shuffled by seed 0, the same for all methods"
    assert words["data"].startswith("the first 20 of [npy dark.npy: 48 images, shuffled by seed 0, batches of 16")
    assert words["answers"] == "before the update"
    assert (words["optimizer"], words["lr"], words["images"]) == ("Adam", "0.001", "20")
    assert set(result.versions) >= {"tent", "torch", "numpy", "python"}
    assert result.hardware
    assert result.commit
    assert result.finished.endswith("+00:00")
    assert (len(result.case.weights), len(result.case.data[0].sha256)) == (64, 64)


def test_reading_is_not_timed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(10_000))
    clock = {"reading": 0}
    monkeypatch.setattr("tent.evaluate.now", lambda device: float(next(ticks) + clock["reading"]))
    read = Stream.__iter__

    def slow(stream: Stream):  # type: ignore[no-untyped-def]
        for batch in read(stream):
            clock["reading"] += 1000  # as if every batch took so long to read
            yield batch

    monkeypatch.setattr(Stream, "__iter__", slow)
    assert run_case(tiny.case(folder)).seconds == 3  # a tick a batch
    assert run_case(tiny.case(folder, when="offline", epochs=2)).seconds == 9


def test_a_step_of_tent_takes_more_memory_than_an_answer(folder: Path) -> None:
    activations = 16 * 8 * 6 * 6 * 4  # of one layer, in bytes
    source, tent_, small = (
        run_case(tiny.case(folder, **options)).peak_memory for options in ({"method": "source"}, {}, {"batch_size": 4})
    )
    assert source is not None
    assert tent_ is not None
    assert small is not None
    assert activations <= source < tent_ < 20 * activations
    assert small < tent_ / 2


def test_a_resized_set_keeps_the_models_own_mean_and_deviation(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(0).integers(0, 256, (4, 28, 28), dtype=np.uint8))
    case = Case("r26-svhn", Data(f"npy:{tmp_path / 'x.npy'}", size=32), "source")
    entry = load_entry("r26-svhn")
    x, _, _ = next(iter(build_stream(case, case.data, entry)))
    assert x.shape == (4, 3, 32, 32)
    mean, std = (torch.tensor(v).view(3, 1, 1) for v in (entry.preprocess.mean, entry.preprocess.std))
    back = (x * std + mean) * 255
    assert torch.allclose(back, back.round(), atol=1e-3)  # whole pixels again
    assert torch.allclose(back[:, 0], back[:, 1], atol=1e-3)  # grey, whatever each channel's mean is


def test_a_case_is_refused_where_its_model_data_or_labels_are_others(folder: Path, tmp_path: Path) -> None:
    case = tiny.case(folder)
    good = pin_case(case)
    assert pin_case(good) == good
    assert count_images(good) == 48
    with pytest.raises(ValueError, match=r"its weights are .* not abc as in the case"):
        pin_case(replace(case, weights="abc"))
    with pytest.raises(ValueError, match=r"its hash is .* not abc as in the case"):
        pin_case(replace(case, data=replace(case.data[0], sha256="abc")))
    with pytest.raises(ValueError, match="labels are not known"):
        pin_case(replace(case, data=Data(f"npy:{folder / 'dark.npy'}")))
    with pytest.raises(ValueError, match="images 40 to 60 of 48; ask for fewer"):
        run_case(replace(case, data=replace(case.data[0], part=(40, 60))))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ('{"0": "sky", "1": "road"}', "its class 0 is 'sky', but segmenter's is 'road'; name a model"),
        ('{"0": "road", "1": "sky", "2": "car"}', "has 3 classes, but segmenter answers with 2"),
        ('{"0": "road", "1": "sky"}', ""),
    ],
)
def test_label_maps_of_ones_own_must_be_of_the_models_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: str, message: str
) -> None:
    for each, mode in (("images", "RGB"), ("labels", "L")):
        (tmp_path / each).mkdir()
        Image.new(mode, (8, 6)).save(tmp_path / each / "0.png")
    (tmp_path / "classes.json").write_text(names)
    entry = Entry("segmenter", torch.nn.Conv2d(3, 2, 1), Preprocess(), 2, ("road", "sky"))
    monkeypatch.setattr(zoo, "load", lambda *given: entry)
    folders = f"{tmp_path / 'images'},{tmp_path / 'labels'},{tmp_path / 'classes.json'}"
    case = Case(f"segmenter of {tmp_path}", Data(f"pairs:{folders}"), "source", task="segmentation")
    with pytest.raises(ValueError, match=message) if message else nullcontext():
        pin_case(case)


@pytest.mark.parametrize(
    ("swap", "message"), [(True, "its class 0 is 'airplane', but swapped's is 'truck'"), (False, "")]
)
def test_the_same_classes_in_another_order_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, swap: bool, message: str
) -> None:
    (folder / "data" / "cifar10").mkdir(parents=True)
    np.save(folder / "data" / "cifar10" / "test_images.npy", np.zeros((10, 8, 8, 3), dtype=np.uint8))
    np.save(folder / "data" / "cifar10" / "test_labels.npy", np.arange(10))
    names = list(find_set("cifar10").class_names)  # type: ignore[union-attr, arg-type]
    names = names[::-1] if swap else [name.upper() for name in names]
    entry = Entry("swapped", torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 10)), Preprocess(), 10, names)
    monkeypatch.setattr(zoo, "load", lambda *given: entry)
    monkeypatch.setenv("TENT_DATA", str(folder / "data"))
    case = Case(f"swapped in {folder}", Data("cifar10"), "source")
    with pytest.raises(ValueError, match=message) if message else nullcontext():
        pin_case(case)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"select": "some"}, "select 'some': choose from norm_affine"),
        ({"stats": "blend:x"}, "no statistics 'blend:x'; there are source"),
        ({"stats": "source:1"}, "no statistics 'source:1'; there are source"),
        ({"optimizer": "lion"}, "optimizer 'lion': choose from adam, sgd"),
        ({"optimizer": "adam", "momentum": 0.9}, "momentum 0.9 is for sgd"),
        ({"momentum": 0.9}, "momentum 0.9 without an optimizer"),
        ({"options": {"threshold": 1}}, "tent with {'threshold': 1}"),
        ({"answers": "during"}, "answers must be"),
        ({"method": "pl", "choose": {"threshold": "a-choice"}}, "pl's threshold has not been chosen yet"),
    ],
)
def test_words_that_mean_nothing_are_refused(folder: Path, wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run_case(tiny.case(folder, **wrong))
