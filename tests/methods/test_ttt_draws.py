"""TTT's draws: by the seed and the number of the update, and by nothing else."""

import torch
from torch import Tensor
from toys import alike, batches, made

import tent

GROUP_NORM = "group-norm-two-heads"


def test_the_seed_decides_what_is_drawn_and_nothing_else_does() -> None:
    before = torch.get_rng_state()
    one, same, other = (tent.adapt(made(GROUP_NORM), tent.TTT(seed=seed), lr=0.1) for seed in (1, 1, 2))
    for x in batches(3):
        one(x), same(x), other(x)
    assert torch.equal(torch.get_rng_state(), before)
    assert alike(one, same)
    assert not alike(one, other)
    assert one.state.tensors == {}


def test_every_update_draws_anew_and_the_draws_are_even() -> None:
    method, images, turns = tent.TTT(), torch.rand(8, 3, 4, 4), []
    state = tent.adapt(made(GROUP_NORM), method).state
    for state.step in range(400):
        turns.append(method.draw(images, state.generator(method.seed))[1])
    assert len({tuple(drawn.tolist()) for drawn in turns}) > 390  # of 65,536
    assert torch.stack(turns).flatten().bincount(minlength=4).sub(800).abs().max() < 100  # four standard deviations


def test_copies_are_shifted_and_a_batch_is_not() -> None:
    images = torch.rand(2, 3, 8, 8)

    def upright(method: tent.TTT) -> Tensor:
        turned, turns = method.draw(images, torch.Generator().manual_seed(0))
        return torch.stack([image.rot90(-int(turn), (1, 2)) for image, turn in zip(turned, turns, strict=True)])

    assert torch.equal(upright(tent.TTT()), images)
    assert torch.equal(upright(tent.TTT(copies=3, shift=0)), images.repeat_interleave(3, 0))
    assert not torch.equal(upright(tent.TTT(shift=2)), images)
    assert len({tuple(image.flatten().tolist()) for image in upright(tent.TTT(copies=16))}) > 16
