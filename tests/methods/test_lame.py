"""LAME against its equations, written out, and what it refuses."""

import pytest
import torch
from equations import WITHIN, lively, stream
from torch import Tensor, nn
from toys import batches, logits, made

import tent


def affinity(rows: Tensor, kind: str, neighbours: int) -> Tensor:
    """Boudiaf et al. 2022, section 5, pair by pair."""
    rows = torch.stack([row / row.norm() for row in rows])
    n = len(rows)
    distances = torch.stack([torch.stack([(a - b).norm() for b in rows]) for a in rows])
    kernel = torch.zeros(n, n, dtype=rows.dtype)
    if kind == "rbf":
        sigma = sum(sorted(row.tolist())[min(neighbours, n) - 1] for row in distances) / n
        return torch.exp(-(distances**2) / (2 * sigma**2))
    for i, row in enumerate(distances.tolist()):
        for j in sorted(range(n), key=row.__getitem__)[1 : neighbours + 1]:
            kernel[i, j] = 1
    return kernel if kind == "knn" else rows @ rows.T


def smoothed(p: Tensor, kernel: Tensor) -> Tensor:
    """The bound optimisation of equation 8, until the energy rests."""
    unary, last = -torch.log(p + 1e-10), float("inf")
    y = torch.softmax(-unary, 1)
    for i in range(100):
        pairs = kernel @ y
        y = torch.softmax(pairs - unary, 1)
        energy = float((unary * y - pairs * y + y * torch.log(y.clip(1e-20))).sum())
        if i > 1 and abs(energy - last) <= 1e-8 * abs(last):
            break
        last = energy
    return y


@pytest.mark.parametrize("kind", ["rbf", "knn", "linear"])
@pytest.mark.parametrize("net", ["conv", "named"])
def test_lame_is_its_equations(kind: str, net: str) -> None:
    model = lively(net, batch_norms=False)
    adapted = tent.adapt(model, tent.LAME(affinity=kind, neighbours=3))
    changed = 0
    for x in stream(3):
        z = logits(model(x)).detach()
        rows = model[:-1](x) if net == "conv" else model.body(x).mean((2, 3))
        expected = smoothed(z.softmax(1), affinity(rows.detach(), kind, 3))
        ours = logits(adapted(x))
        assert torch.allclose(ours.exp(), expected, rtol=0, atol=WITHIN)  # the logarithms of probabilities
        changed += int((ours.argmax(1) != z.argmax(1)).sum())
    assert changed > 0
    assert not adapted.state.params
    assert not adapted.state.tensors


def test_one_sample_or_equal_ones_have_an_answer() -> None:
    model = lively("conv", batch_norms=False)
    adapted, x = tent.adapt(model, tent.LAME()), stream(1)[0]
    for batch in (x[:1], x[:1].repeat(7, 1, 1, 1)):
        answer = adapted(batch)
        assert bool(answer.isfinite().all())
        assert torch.equal(answer.argmax(1), model(batch).argmax(1))


class Einsum(nn.Module):
    """A classifier without a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.weight = nn.LayerNorm(4), nn.Parameter(torch.randn(4, 5))

    def forward(self, x: Tensor) -> Tensor:
        return torch.einsum("nd,dc->nc", self.norm(x), self.weight)


@pytest.mark.parametrize("method", [tent.LAME(), tent.T3A()])
def test_a_model_without_features_is_refused_in_one_line(method: tent.Method) -> None:
    with pytest.raises(ValueError, match=r"LAME compares features.*Einsum has none|Einsum has no linear") as caught:
        tent.adapt(Einsum(), method)(torch.randn(6, 4))
    assert "\n" not in str(caught.value)


def test_maps_are_refused() -> None:
    with pytest.raises(ValueError, match=r"one label a sample, and was given logits of \(6, 5, 8, 8\)"):
        tent.adapt(made("residual"), tent.LAME())(batches(1)[0])


def test_options_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="LAME affinity must be one of rbf, knn, linear, got 'cosine'"):
        tent.LAME(affinity="cosine")
    with pytest.raises(ValueError, match="LAME neighbours must be a whole number from 1 on, got 0"):
        tent.LAME(neighbours=0)
