"""From a name to a set on disk: what holds for all sets."""

import dataclasses
import tarfile

import made
import pytest

from tent.data.fetch.get import download_folder, get
from tent.data.sets.published import silent


@pytest.mark.parametrize(
    "archive",
    [
        made.tar({"../../evil.jpg": b"1"}, "w"),
        made.tar({"/tmp/evil.jpg": b"1"}, "w"),
        made.tar_link("fog/1/n01/evil.jpg", "/etc/passwd"),
        made.tar_link("fog/1/n01/evil.jpg", "../../../../evil.jpg", tarfile.LNKTYPE),
        made.severities(["fog"])[:-20_000],
    ],
    ids=made.length,
)
def test_an_evil_or_truncated_archive_leaves_nothing_behind(root, publish, archive):
    with pytest.raises(ValueError, match=r"weather\.tar"):
        get(publish("imagenet-c", {"weather.tar": archive}, ("fog",)), root)
    assert made.listing(root / "imagenet-c") == []
    assert not (root / ".imagenet-c.making").exists()
    assert not list(root.parent.glob("**/evil*"))


def test_a_file_put_in_place_that_is_not_the_published_one_is_refused_but_kept(root, publish):
    about = publish("mnist", made.mnist_files())
    place = download_folder(about, root)
    place.mkdir(parents=True)
    (place / "t10k-images-idx3-ubyte.gz").write_bytes(b"something else")
    with pytest.raises(ValueError, match="delete it, or put the published file there"):
        get(about, root, ["test"])
    assert (place / "t10k-images-idx3-ubyte.gz").read_bytes() == b"something else"


def test_without_a_network_it_says_which_files_to_put_where_and_takes_them(root, publish, dead_url, monkeypatch):
    monkeypatch.setattr("tent.data.fetch.download.ATTEMPTS", 1)
    files = made.mnist_files()
    about = publish("mnist", files)
    offline = tuple(dataclasses.replace(file, url=f"{dead_url}/{file.name}") for file in about.files)
    about = dataclasses.replace(about, files=offline)
    with pytest.raises(OSError, match="Put into") as said:
        get(about, root, ["test"])
    message = str(said.value)
    assert str(root / "downloads" / "mnist") in message
    assert f"t10k-images-idx3-ubyte.gz from {dead_url}" in message
    assert "t10k-labels-idx1-ubyte.gz" in message
    assert "train-images" not in message
    assert "\n" not in message
    for name, content in files.items():
        (download_folder(about, root) / name).write_bytes(content)
    assert get(about, root) == ("train", "test")


def test_files_can_be_kept(root, publish):
    get(publish("mnist", made.mnist_files()), root, keep=True)
    assert len(made.listing(root / "downloads")) == 4


def test_a_set_is_not_laid_out_twice_at_once(root, publish):
    pytest.importorskip("fcntl")
    about = publish("mnist", made.mnist_files())

    def meddle(*_):
        with pytest.raises(BlockingIOError, match="another process"):
            get(about, root)

    get(about, root, progress=meddle)


def test_an_interrupted_layout_leaves_nothing_that_looks_whole(root, publish):
    about = publish("mnist", made.mnist_files())

    def stop(*_):
        raise KeyboardInterrupt

    stopped = dataclasses.replace(
        about, layout=lambda files, folder, progress: (about.layout(files, folder, silent), stop())
    )
    with pytest.raises(KeyboardInterrupt):
        get(stopped, root)
    assert about.pieces_in(root / "mnist") == []
    assert get(about, root) == ("train", "test")
