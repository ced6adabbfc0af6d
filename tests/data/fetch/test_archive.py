import gzip
import lzma
import random
import tarfile
import zipfile

import made
import pytest

from tent.data.fetch.archive import extract, members
from tent.data.sets.published import silent


def write(tmp_path, content, name="a.tar"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def everything(path, folder):
    return extract(path, folder, silent, lambda inside: inside)


def read_all(path):
    return [inside.read() for _, inside in members(path, silent)]


def files(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "pack", [made.tar, made.zipped, lambda files: made.tar(files, "w"), lambda files: made.tar(files, "w:bz2")]
)
def test_files_come_out_as_they_went_in(tmp_path, pack):
    path = write(tmp_path, pack({"a/b.txt": b"one", "./c.txt": b"two" * 100_000}))
    folder = tmp_path / "out"
    assert everything(path, folder) == 2
    assert files(folder) == ["a/b.txt", "c.txt"]
    assert (folder / "c.txt").read_bytes() == b"two" * 100_000


def test_files_can_be_renamed_and_left_out(tmp_path):
    path = write(tmp_path, made.tar({"a/b.txt": b"one", "a/c.png": b"two"}))
    assert extract(path, tmp_path / "out", silent, lambda inside: inside if inside.suffix == ".png" else None) == 1
    assert files(tmp_path / "out") == ["a/c.png"]


BAD = ["../out.txt", "a/../../out.txt", "/abs.txt", "C:\\x.txt", "..\\x.txt", "a\\..\\..\\x.txt", ".", "c:x"]


@pytest.mark.parametrize("pack", [made.tar, made.zipped])
@pytest.mark.parametrize("name", BAD)
def test_a_path_that_leaves_the_folder_is_refused(tmp_path, pack, name):
    path = write(tmp_path, pack({"good.txt": b"1", name: b"2"}))
    inner = tmp_path / "in" / "out"
    with pytest.raises(ValueError, match="outside the folder"):
        everything(path, inner)
    assert files(tmp_path) in (["a.tar"], ["a.tar", "in/out/good.txt"])


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
@pytest.mark.parametrize("target", ["/etc/passwd", "inside.txt"])
def test_links_and_devices_in_a_tar_are_refused(tmp_path, kind, target):
    path = write(tmp_path, made.tar_link("link", target, kind))
    with pytest.raises(ValueError, match="'link' is no plain file"):
        everything(path, tmp_path / "out")
    assert not (tmp_path / "out" / "link").exists()


def test_a_link_in_a_zip_is_refused(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(ValueError, match="'link' is a link"):
        everything(path, tmp_path / "out")


def test_a_member_does_not_overwrite_another(tmp_path):
    path = write(tmp_path, made.tar({"a": b"1", "./a": b"2"}))
    with pytest.raises(FileExistsError):
        everything(path, tmp_path / "out")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7])  # of the plain tar, 0.3 ends right between two files
@pytest.mark.parametrize("pack", [made.tar, made.zipped, lambda files: made.tar(files, "w")])
def test_a_truncated_archive_is_refused_by_name(tmp_path, pack, share):
    content = pack({f"{n}.bin": made.pixels(30_000, seed=n).tobytes() for n in range(3)})
    path = write(tmp_path, content[: int(share * len(content))], "half.tar")
    with pytest.raises(ValueError, match=r"half\.tar: not a whole archive"):
        everything(path, tmp_path / "out")


def test_progress_ends_at_the_whole(tmp_path):
    path = write(tmp_path, made.tar({"a": b"1", "b": b"2"}))
    said = []
    list(members(path, lambda *about: said.append(about)))
    assert said[-1] == ("opening a.tar", path.stat().st_size, path.stat().st_size)


PACKS = {"gz": "w:gz", "bz2": "w:bz2", "xz": "w:xz"}


@pytest.mark.parametrize("kind", PACKS)
def test_a_flipped_bit_in_a_compressed_archive_is_noticed(tmp_path, kind):
    content = made.tar({f"{n}.bin": made.pixels(3_000, seed=n).tobytes() for n in range(3)}, PACKS[kind])
    draw = random.Random(0)
    for place in [*draw.sample(range(12, len(content)), 20), *range(len(content) - 8, len(content) - 4)]:
        bits = bytearray(content)
        bits[place] ^= 1 << draw.randrange(8)
        path = write(tmp_path, bytes(bits), "bad.tar")
        with pytest.raises(ValueError, match=r"bad\.tar"):
            read_all(path)


def test_a_damaged_xz_is_refused_by_name(tmp_path):
    content = made.tar({"a.bin": made.pixels(100_000).tobytes()}, "w:xz")
    path = write(tmp_path, content[:20_000] + bytes(64) + content[20_064:])
    with pytest.raises(ValueError, match=r"a\.tar: not a whole archive"):
        everything(path, tmp_path / "out")
    path = write(tmp_path, lzma.compress(b"no tar"))
    with pytest.raises(ValueError, match=r"a\.tar: not a whole archive"):
        everything(path, tmp_path / "out")


def test_an_encrypted_zip_is_refused_by_name(tmp_path):
    content = bytearray(made.zipped({"a.txt": b"secret"}))
    content[6] |= 1  # the flags of the file, here and in the directory
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path = write(tmp_path, bytes(content), "a.zip")
    with pytest.raises(ValueError, match=r"a\.zip: .*encrypted"):
        everything(path, tmp_path / "out")


@pytest.mark.parametrize("size", ["declared", "behind the end"])
def test_an_archive_that_unpacks_without_bounds_is_refused(tmp_path, size, monkeypatch):
    monkeypatch.setattr("tent.data.fetch.archive.ROOM", 1_000_000)
    content = made.tar({"a.bin": bytes(30_000_000)} if size == "declared" else {"a.bin": b"1"}, "w")
    path = write(tmp_path, gzip.compress(content + bytes(30_000_000 if size != "declared" else 0)), "a.tar")
    with pytest.raises(ValueError, match=r"a\.tar: unpacks to more than"):
        everything(path, tmp_path / "out")


def test_a_zip_that_unpacks_without_bounds_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("tent.data.fetch.archive.ROOM", 1_000_000)
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.bin", bytes(30_000_000))
    with pytest.raises(ValueError, match=r"a\.zip: unpacks to more than"):
        everything(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
