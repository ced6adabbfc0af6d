"""Small files in the formats that sets were published in, made from random pixels."""

import bz2
import gzip
import io
import pickle
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from PIL import Image


def pixels(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def length(raw: bytes) -> str:
    """A name for a test of some bytes."""
    return f"{len(raw)} bytes"


def arrays(folder: Path, split: str, images: np.ndarray, labels: np.ndarray) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / f"{split}_images.npy", images)
    np.save(folder / f"{split}_labels.npy", labels)


def image(array: np.ndarray, kind: str = "PNG") -> bytes:
    out = io.BytesIO()
    Image.fromarray(array).save(out, kind)
    return out.getvalue()


def image_file(path: Path, array: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(image(array, "PNG" if path.suffix == ".png" else "JPEG"))
    return path


def tar(files: Mapping[str, bytes], mode: str = "w:gz") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def tar_link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, target
        archive.addfile(member)
    return out.getvalue()


def zipped(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def python2_batch(data: np.ndarray, labels: list[int], key: str = "labels") -> bytes:
    """A CIFAR batch, opcode by opcode as python 2 wrote it: short strings, numpy's old module, raw bytes."""
    text = b"".join

    def short(value: bytes) -> bytes:
        return b"U" + bytes([len(value)]) + value

    def number(value: int) -> bytes:
        return b"J" + struct.pack("<i", value)

    raw = data.tobytes()
    array = text(
        (
            b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tU\x01btR",
            b"(K\x01(" + number(data.shape[0]) + number(data.shape[1]) + b"t",
            b"cnumpy\ndtype\n(U\x02u1K\x00K\x01tR(K\x03U\x01|NNN" + number(-1) + number(-1) + b"K\x00tb",
            b"\x89T" + struct.pack("<i", len(raw)) + raw + b"tb",
        )
    )
    listed = b"(" + text(number(label) for label in labels) + b"l"
    return b"\x80\x02}(" + short(b"data") + array + short(key.encode()) + listed + b"u."


def cifar10_archive(n: int = 4) -> tuple[bytes, np.ndarray, np.ndarray]:
    """The archive with five train batches and a test batch of n images each, and all its images and labels."""
    data = pixels(6 * n, 3072)
    labels = np.arange(6 * n) % 10
    names = [f"data_batch_{number}" for number in range(1, 6)] + ["test_batch"]
    files = {
        f"cifar-10-batches-py/{name}": python2_batch(data[i * n : i * n + n], labels[i * n : i * n + n].tolist())
        for i, name in enumerate(names)
    }
    files["cifar-10-batches-py/batches.meta"] = pickle.dumps({"label_names": [f"c{i}" for i in range(10)]}, protocol=2)
    files["cifar-10-batches-py/readme.html"] = b"<html>"
    return tar(files), data.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels


def idx(array: np.ndarray) -> bytes:
    return gzip.compress(struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes())


def usps(images: np.ndarray, labels: np.ndarray) -> bytes:
    rows = []
    for pixel, label in zip(images.reshape(len(images), -1), labels, strict=True):
        rows.append(f"{label + 1} " + " ".join(f"{i}:{value / 127.5 - 1:.7f}" for i, value in enumerate(pixel, 1)))
    return bz2.compress(("\n".join(rows) + "\n").encode())


def _element(kind: int, data: bytes) -> bytes:
    if 0 < len(data) <= 4 and kind != 14:
        return struct.pack("<I", kind | len(data) << 16) + data.ljust(4, b"\0")
    return struct.pack("<II", kind, len(data)) + data + b"\0" * (-len(data) % 8)


def _matrix(name: str, class_: int, dims: tuple[int, ...], content: bytes) -> bytes:
    head = _element(6, struct.pack("<II", class_, 0)) + _element(5, struct.pack(f"<{len(dims)}i", *dims))
    return _element(14, head + _element(1, name.encode()) + content)


def mat_numbers(name: str, array: np.ndarray) -> bytes:
    kind, class_ = {"uint8": (2, 9), "float64": (9, 6)}[str(array.dtype)]
    return _matrix(name, class_, array.shape, _element(kind, array.tobytes(order="F")))


def mat_text(name: str, text: str) -> bytes:
    return _matrix(name, 4, (1, len(text)), _element(4, text.encode("utf-16-le")))


def mat_struct(name: str, rows: list[dict[str, bytes]]) -> bytes:
    fields = list(rows[0])
    names = b"".join(field.encode().ljust(32, b"\0") for field in fields)
    content = _element(5, struct.pack("<i", 32)) + _element(1, names)
    return _matrix(name, 2, (len(rows), 1), content + b"".join(row[field] for row in rows for field in fields))


def mat(*variables: bytes) -> bytes:
    packed = (zlib.compress(variable) for variable in variables)
    body = b"".join(struct.pack("<II", 15, len(each)) + each for each in packed)
    return b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM" + body


def listing(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def mnist_files() -> dict[str, bytes]:
    return {
        "train-images-idx3-ubyte.gz": idx(pixels(5, 28, 28)),
        "train-labels-idx1-ubyte.gz": idx(np.arange(5, dtype=np.uint8)),
        "t10k-images-idx3-ubyte.gz": idx(pixels(3, 28, 28, seed=1)),
        "t10k-labels-idx1-ubyte.gz": idx(np.arange(3, dtype=np.uint8)),
    }


def severities(types: list[str]) -> bytes:
    picture = image(pixels(6, 7, 3), "JPEG")
    return tar({f"{t}/{s}/{c}/a.JPEG": picture for t in types for s in range(1, 6) for c in ("n01", "n02", "n03")}, "w")
