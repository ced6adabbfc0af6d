"""The C library's allocator, told to keep what is freed: pages that a CPU need not be handed anew at every step."""

import ctypes
import sys

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4  # of glibc's malloc.h
AHEAD = 64 << 20  # bytes asked for beyond what is needed


def keep_memory() -> bool:
    """Keep freed memory in this process for its next use, for good; tell whether that could be done.

    It needs glibc, which Linux has and musl, macOS and Windows have not. The process then keeps the most that it ever
    needed at once. Nothing in this library calls it but its own commands.
    """
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "gnu_get_libc_version"):
        return False
    settings = ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, -1), (M_TOP_PAD, AHEAD))
    return [libc.mallopt(*setting) for setting in settings] == [1, 1, 1]
