"""Damage to files: flipped bits, pieces that are overwritten, cut out, repeated or missing at the end."""

import os
import random
from collections.abc import Iterator

DAMAGES = int(os.environ.get("TENT_DAMAGES", "400"))  # damaged files of each kind


def damaged(raw: bytes, seed: int = 1) -> Iterator[bytes]:
    """Yield files of which none is the whole one."""
    draw = random.Random(seed)
    for _ in range(DAMAGES):
        broken = damage(raw, draw)
        if broken != raw:
            yield broken


def damage(raw: bytes, draw: random.Random) -> bytes:
    bits = bytearray(raw)
    for _ in range(draw.randint(1, 3)):
        if not bits:
            break
        at, how = draw.randrange(len(bits)), draw.randrange(9)
        if how < 3:
            bits[at] ^= 1 << draw.randrange(8)
        elif how < 5:
            bits[at : at + 4] = draw.choice([b"\xff" * 4, bytes(4), b"\0\0\0\x80", draw.randbytes(4)])
        elif how < 6:
            del bits[at : at + draw.randint(1, 9)]
        elif how < 8:
            bits[at:at] = bits[at : at + draw.randint(1, 9)]
        else:
            del bits[at:]
    return bytes(bits)
