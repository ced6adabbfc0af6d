"""Buffers are used again when nobody holds them, and never before."""

import copy
import gc
import pickle

import torch

from tent.lean import bits
from tent.lean.buffers import KEPT, LARGE, Buffers

LAST = torch.channels_last


def large() -> torch.Tensor:
    return torch.randn(4, 32, 64, 64).contiguous(memory_format=LAST)


def test_a_buffer_has_the_shape_strides_and_type_that_were_asked_for() -> None:
    buffers, x = Buffers(), large()
    for like in (x, x.contiguous(), x.double(), x.bfloat16()):
        y = buffers.like(like)
        assert (y.shape, y.stride(), y.dtype, y.data_ptr() % 64) == (like.shape, like.stride(), like.dtype, 0)
        assert not y._is_view()
    assert buffers.take((5, 7), x).is_contiguous()


def test_a_buffer_is_used_again_once_the_last_tensor_on_it_is_gone() -> None:
    buffers, x = Buffers(), large()
    first = buffers.like(x)
    place, view = first.data_ptr(), first[1:]
    del first
    assert buffers.like(x).data_ptr() != place  # the view still holds it
    del view
    assert buffers.like(x).data_ptr() == place


def test_a_buffer_in_a_graph_is_not_used_again() -> None:
    buffers, x = Buffers(), large()
    held = buffers.like(x).copy_(x)
    loss = (held * torch.ones(1, requires_grad=True)).sum()
    del held
    before = buffers.bytes
    buffers.like(x).zero_()
    assert buffers.bytes == 2 * before
    (grad,) = torch.autograd.grad(loss, loss.grad_fn.next_functions[0][0].next_functions[1][0].variable)
    assert torch.allclose(grad, x.sum(), rtol=1e-3)
    del loss


def test_sizes_that_nobody_asks_for_any_more_are_let_go() -> None:
    buffers, x = Buffers(), large()
    buffers.like(x)
    for _ in range(KEPT):
        buffers.trim()
    assert buffers.bytes > 0
    buffers.trim()
    assert buffers.bytes == 0


def test_small_tensors_are_left_to_torch() -> None:
    buffers = Buffers()
    assert buffers.like(torch.zeros(LARGE // 8)).numel() == LARGE // 8
    assert buffers.bytes == 0


def test_copies_start_empty() -> None:
    buffers = Buffers()
    kept = buffers.like(large())
    assert copy.deepcopy(buffers).bytes == pickle.loads(pickle.dumps(buffers)).bytes == 0
    del kept
    gc.collect()


def test_bits_say_where_a_tensor_is_above_zero() -> None:
    for shape in [(3, 5, 7, 2), (2, 8, 4, 4), (1,), (16, 3), (0, 4)]:
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            x = torch.randn(shape, dtype=dtype)
            packed = bits.above_zero(x)
            assert packed.dtype == torch.uint8
            assert packed.numel() == -(-x.numel() // 8)
            assert torch.equal(bits.floats(packed, torch.empty_like(x)), (x > 0).to(dtype))


def test_bits_follow_the_memory_of_channels_last() -> None:
    x = large()
    assert torch.equal(bits.floats(bits.above_zero(x), torch.empty_like(x)), (x > 0).float())
