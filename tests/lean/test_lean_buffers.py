"""Buffers are used again when nobody holds them, and never before."""

import copy
import gc
import pickle
import random
import threading
import weakref
from itertools import pairwise

import torch

from tent.lean.buffers import LARGE, LIMIT, RECENT, Buffers
from tent.lean.pointwise import pack_positive, unpack_bits

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


def test_extra_references_to_a_buffer_change_nothing() -> None:
    buffers, x = Buffers(), large()
    first = buffers.like(x)
    aliases = [first.untyped_storage(), first.detach(), first.numpy(), first[1:]]
    place = first.data_ptr()
    del first
    while aliases:
        assert buffers.like(x).data_ptr() != place
        aliases.pop()
    assert place in {tensor.data_ptr() for tensor in [buffers.like(x), buffers.like(x)]}


def test_tensors_that_live_at_once_never_share_memory() -> None:
    buffers, draw, alive = Buffers(), random.Random(0), list[torch.Tensor]()
    for step in range(300):
        if len(alive) > 6 or (alive and draw.random() < 0.4):
            alive.pop(draw.randrange(len(alive)))
        alive.append(buffers.take((draw.randrange(LARGE // 4, LARGE),), torch.empty(0)))
        ends = sorted((t.data_ptr(), t.data_ptr() + t.nbytes) for t in alive)
        assert all(end <= start for (_, end), (start, _) in pairwise(ends))
        if step % 20 == 0:
            buffers.trim()


def test_a_buffer_may_be_let_go_by_another_thread() -> None:
    buffers, x = Buffers(), large()
    held = [buffers.like(x) for _ in range(20)]
    places = {tensor.data_ptr() for tensor in held}
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    held = [buffers.like(x) for _ in range(20)]
    assert {tensor.data_ptr() for tensor in held} == places


def test_batches_of_other_sizes_hold_little_more_than_was_needed_at_once() -> None:
    buffers, draw, most = Buffers(), random.Random(0), 0
    for _ in range(50):
        rows, alive = draw.randrange(20, 200), list[torch.Tensor]()
        for wide in (1 << 14, 3 << 13, 1 << 13, 1 << 12):
            alive.append(buffers.take((rows, wide), torch.empty(0)))
        while len(alive) > 1:
            gradient = buffers.like(alive[-1])
            most = max(most, sum(t.nbytes for t in (*alive, gradient)))
            del gradient
            alive.pop()
        del alive
        buffers.trim()
        assert buffers.bytes <= LIMIT * most


def test_a_stream_of_equal_batches_takes_no_new_memory() -> None:
    buffers, places = Buffers(), list[set[int]]()
    for _ in range(4):
        alive = [buffers.take((rows, 1 << 12), torch.empty(0)) for rows in (100, 200, 400)]
        places.append({t.data_ptr() for t in alive})
        del alive
        buffers.trim()
    assert places[1] == places[2] == places[3]


def test_memory_that_a_kept_tensor_lies_on_does_not_add_up() -> None:
    buffers, kept, most = Buffers(), list[torch.Tensor](), 0
    for rows in range(200, 400, 10):
        alive = [buffers.take((rows, 1 << 12), torch.empty(0)) for _ in range(4)]
        most = sum(t.nbytes for t in alive)
        kept = kept or alive[:1]
        del alive
        buffers.trim()
    assert buffers.bytes <= LIMIT * most + 4 * kept[0].nbytes


def test_a_tensor_does_not_keep_the_buffers_alive() -> None:
    buffers, x = Buffers(), large()
    held, gone = buffers.like(x).copy_(x), weakref.ref(buffers)
    del buffers
    assert gone() is None
    assert torch.equal(held, x)


def test_sizes_that_nobody_asks_for_any_more_are_let_go() -> None:
    buffers, x = Buffers(), large()
    buffers.like(x)
    for _ in range(RECENT):
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
            packed = pack_positive(x)
            assert packed.dtype == torch.uint8
            assert packed.numel() == -(-x.numel() // 8)
            assert torch.equal(unpack_bits(packed, torch.empty_like(x)), (x > 0).to(dtype))


def test_bits_follow_the_memory_of_channels_last() -> None:
    x = large()
    assert torch.equal(unpack_bits(pack_positive(x), torch.empty_like(x)), (x > 0).float())


def test_memory_that_no_tensor_lies_on_is_given_back() -> None:
    buffers, kind = Buffers(), torch.empty(0)
    kept, gone = buffers.take((1 << 20,), kind), buffers.take((1 << 20,), kind)
    kept.fill_(1.0)
    del gone
    buffers.release()
    assert buffers.bytes == 4 << 20
    assert kept.sum() == 1 << 20
    del kept
    buffers.release()
    assert buffers.bytes == 0
    assert buffers.take((1 << 20,), kind).numel() == 1 << 20
