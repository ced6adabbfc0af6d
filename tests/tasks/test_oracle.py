"""The oracle: cross-entropy to the labels of the batch at hand, revealed for one batch and to one thread."""

import copy
import threading

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import tent
from tent.data import Stream
from tent.data.order import Stored
from tent.evaluate import evaluate
from tent.methods import METHODS
from tent.tasks import Classification, Segmentation
from tent.tasks.oracle import Oracle, reveal


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 4)).eval()


def samples(n: int = 24) -> list[tuple[torch.Tensor, int]]:
    torch.manual_seed(1)
    return [(torch.randn(3, 8, 8), i % 4) for i in range(n)]


def by_hand(model: nn.Module, batches: list[tuple[torch.Tensor, torch.Tensor]], epochs: int) -> list[list[int]]:
    """Plain torch: batch statistics, Adam on γ and β, cross-entropy; the answers online, and then offline."""
    model = copy.deepcopy(model)
    layer = model[1]  # type: ignore[index]
    layer.track_running_stats, layer.running_mean, layer.running_var = False, None, None
    optimizer = torch.optim.Adam([layer.weight, layer.bias], lr=0.05)
    for _ in range(epochs):
        online = []
        for x, y in batches:
            logits = model(x)
            online += logits.argmax(1).tolist()
            optimizer.zero_grad()
            F.cross_entropy(logits, y).backward()
            optimizer.step()
    return [online, [answer for x, _ in batches for answer in model(x).argmax(1).tolist()]]


@pytest.mark.parametrize("epochs", [1, 3])
def test_it_is_supervised_learning_of_gamma_and_beta(epochs: int) -> None:
    model, stream = net(), Stream(samples(), 8, Stored())
    expected = by_hand(model, [(x, y) for x, y, _ in stream], epochs)
    for offline, answers in zip((False, True), expected, strict=True):
        found: list[int] = []
        evaluate(
            tent.adapt(model, Oracle(), lr=0.05),
            stream,
            Classification(),
            epochs=epochs,
            offline=offline,
            on_batch=lambda batch, output, found=found: found.extend(output.argmax(1).tolist()),
        )
        assert found == answers


def test_on_label_maps_it_learns_from_the_pixels_that_are_counted() -> None:
    """As the task counts them: answers at half the size of their labels, and 255 left out."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.BatchNorm2d(4)).eval()
    maps = [torch.randint(0, 4, (8, 8)) for _ in range(6)]
    for each in maps:
        each[:3] = 255
    maps[4:] = [torch.full((8, 8), 255)] * 2  # a batch of which nothing is counted moves nothing
    stream = Stream([(torch.randn(3, 8, 8), each) for each in maps], 2, Stored())
    adapted, found = tent.adapt(model, Oracle(), lr=0.05), []
    evaluate(adapted, stream, Segmentation(4), on_batch=lambda batch, output: found.append(output))
    plain = copy.deepcopy(model)
    layer = plain[1]
    layer.track_running_stats, layer.running_mean, layer.running_var = False, None, None
    optimizer = torch.optim.Adam([layer.weight, layer.bias], lr=0.05)
    for (x, y, _), output in zip(stream, found, strict=True):
        logits = plain(x)
        torch.testing.assert_close(output, logits, atol=1e-4, rtol=1e-4)
        counted = y != 255
        if counted.any():
            wide = F.interpolate(logits, size=(8, 8), mode="bilinear").movedim(1, -1)
            optimizer.zero_grad()
            F.cross_entropy(wide[counted], y[counted]).backward()
            optimizer.step()
    torch.testing.assert_close(adapted.state.params["1.weight"].detach(), layer.weight.detach(), atol=1e-4, rtol=1e-4)


def test_labels_are_revealed_for_one_batch_and_to_nothing_else() -> None:
    assert "oracle" not in METHODS  # labels never enter the core
    adapted, x = tent.adapt(net(), Oracle()), torch.rand(4, 3, 8, 8)
    with reveal(torch.tensor([0, 1, 2, 3])):
        adapted(x)
    assert adapted.updates == 1
    with pytest.raises(ValueError, match="an oracle learns from labels, and none were revealed"):
        adapted(x)


def test_it_keeps_nothing_on_itself_and_is_shared_by_threads() -> None:
    oracle, x = Oracle(), torch.rand(4, 3, 8, 8)
    failures: list[str] = []

    def elsewhere() -> None:
        try:
            tent.adapt(net(), oracle)(x)
        except ValueError as error:
            failures.append(str(error))

    with reveal(torch.tensor([0, 1, 2, 3])):
        tent.adapt(net(), oracle)(x)
        assert vars(oracle) == {}
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert len(failures) == 1
    assert "none were revealed" in failures[0]


def test_revealing_nests() -> None:
    adapted = tent.adapt(net(), Oracle())
    with reveal(torch.tensor([0, 1, 2, 3, 0])):
        with reveal(torch.tensor([0, 1, 2, 3])):
            adapted(torch.rand(4, 3, 8, 8))
        adapted(torch.rand(5, 3, 8, 8))
    assert (adapted.updates, adapted.skipped) == (2, 0)


def test_only_methods_that_need_labels_are_shown_them() -> None:
    assert Oracle.needs == {"labels"}
    seen: list[bool] = []

    class Curious(tent.Tent):
        def loss(self, seen_, state):  # type: ignore[no-untyped-def]
            from tent.tasks import oracle

            seen.append(oracle._labels.get() is None)
            return super().loss(seen_, state)

    evaluate(tent.adapt(net(), Curious()), Stream(samples(), 8, Stored()), Classification())
    assert seen == [True] * 3
