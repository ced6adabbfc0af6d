"""One bit a value: whether it is above zero."""

import torch
from torch import Tensor

GATHER = 0x0102040810204080  # times eight bytes of 0 or 1: its top byte has them as bits
BITS = (torch.arange(256, device="cpu")[:, None] >> torch.arange(8, device="cpu")) & 1  # (256, 8)


def pack_positive(x: Tensor) -> Tensor:
    """Return eight values a byte, in the order of memory; x is dense."""
    mask = _flat(x) > 0
    if left := mask.numel() % 8:
        mask = torch.nn.functional.pad(mask, (0, 8 - left))
    return (mask.view(torch.int64) * GATHER >> 56).to(torch.uint8)


def unpack(bits: Tensor, out: Tensor) -> Tensor:
    """Fill a dense tensor with 1 where the bit is set and 0 elsewhere."""
    table = BITS.to(out.device, out.dtype)
    count = out.numel()
    if count % 8:
        _flat(out).copy_(table[bits.int()].flatten()[:count])
    else:
        torch.index_select(table, 0, bits.int(), out=_flat(out).view(-1, 8))
    return out


def _flat(x: Tensor) -> Tensor:
    return x.as_strided((x.numel(),), (1,))
