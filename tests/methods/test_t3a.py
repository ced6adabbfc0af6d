"""T3A against its equations, written out, and what it refuses."""

import pytest
import torch
from equations import WITHIN, entropies, lively, stream
from torch import Tensor, nn
from toys import batches, made

import tent


class PlainT3A:
    """Iwasawa and Matsuo 2021, equations 3 to 6: lists of supports by class."""

    def __init__(self, body: nn.Module, head: nn.Linear, most: int | None) -> None:
        self.body, self.head, self.most, self.dropped = body, head, most, 0
        self.supports: list[list[tuple[float, Tensor]]] = [[] for _ in head.weight]
        self.add(head.weight)

    def add(self, rows: Tensor) -> None:
        z = self.head(rows)
        for row, label, entropy in zip(rows, z.argmax(1).tolist(), entropies(z).tolist(), strict=True):
            self.supports[label].append((entropy, row.detach()))

    def step(self, x: Tensor) -> Tensor:
        rows = self.body(x)
        self.add(rows)
        for held in self.supports:
            held.sort(key=lambda pair: pair[0])
            self.dropped += len(held[self.most :]) if self.most is not None else 0
            del held[len(held) if self.most is None else self.most :]
        means = []
        for held in self.supports:
            total = sum((row / row.norm() for _, row in held), torch.zeros_like(rows[0]))
            means.append(total / max(float(total.norm().detach()), 1e-12))
        return (rows @ torch.stack(means).T).detach()


@pytest.mark.parametrize("most", [2, 100, None])
def test_t3a_is_its_equations(most: int | None) -> None:
    model = lively("conv", batch_norms=False)
    adapted, plain = tent.adapt(model, tent.T3A(most)), PlainT3A(model[:-1], model[-1], most)
    for x in stream(5):
        assert torch.allclose(adapted(x), plain.step(x), rtol=0, atol=WITHIN)
        assert len(adapted.state.tensors["prototypes"]) == sum(map(len, plain.supports))
    assert (plain.dropped > 0) == (most is not None and most < 100)
    assert not torch.equal(adapted(x).argmax(1), model(x).argmax(1))


def test_a_paused_answer_adds_nothing() -> None:
    adapted = tent.adapt(made("conv"), tent.T3A())
    adapted(batches(1)[0])
    held = adapted.state.tensors["prototypes"]
    with adapted.paused():
        adapted(batches(1)[0])
    assert adapted.state.tensors["prototypes"] is held
    assert len(held) == 5 + 6


def test_every_pixel_of_a_map_is_a_prediction() -> None:
    model = made("residual")
    adapted = tent.adapt(model, tent.T3A(most=7))
    assert adapted(batches(1)[0])["out"].shape == (6, 5, 8, 8)
    assert adapted.state.tensors["prototypes"].shape[1] == 8


def test_a_last_layer_that_does_not_make_the_logits_is_refused() -> None:
    class Cut(nn.Sequential):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x)[:, :3]

    model = Cut(nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 5))
    with pytest.raises(ValueError, match=r"in Cut the last one makes 5 outputs, and the logits are of \(6, 3\)") as one:
        tent.adapt(model, tent.T3A())(torch.randn(6, 4))
    assert "\n" not in str(one.value)


def test_most_is_a_whole_number_or_all() -> None:
    for most in (0, -1, 2.5):
        with pytest.raises(ValueError, match="T3A most must be a whole number from 1 on, or None for all"):
            tent.T3A(most)
