"""Every set from its published files to a stream, over http on this machine; and what is refused on the way."""

import dataclasses
import hashlib
import pickle
import tarfile

import made
import numpy as np
import pytest

from tent.data import known, load, sets
from tent.data.fetch.get import downloads, get
from tent.data.published import silent


@pytest.fixture
def publish(server, monkeypatch):
    """Put a set's files on the server in place of the published ones, under their own names and with their own sums."""

    def put(name, files, gives=None, **changes):
        about = known()[name]
        kept = [file for file in about.files if file.name in files]
        assert len(kept) == len(files)
        for file in kept:
            server.files[file.name] = files[file.name]
        new = tuple(
            dataclasses.replace(
                file,
                url=f"{server.url}/{file.name}",
                bytes=len(files[file.name]),
                md5=hashlib.md5(files[file.name]).hexdigest(),
                sha256=None,
                gives=gives or file.gives,
            )
            for file in kept
        )
        changed = dataclasses.replace(about, files=new, **changes)
        monkeypatch.setitem(sets.SETS, name, changed)
        return changed

    return put


def listing(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_cifar10(root, publish):
    archive, images, labels = made.cifar10_archive()
    about = publish("cifar10", {"cifar-10-python.tar.gz": archive})
    assert get(about, root) == ("train", "test")
    assert listing(root / "cifar10") == [
        *("class_names.txt", "test_images.npy", "test_labels.npy", "train_images.npy", "train_labels.npy")
    ]
    train, test = load("cifar10", "train"), load("cifar10", "test")
    assert np.array_equal(train.fetch(np.arange(20)), images[:20])
    assert np.array_equal(test.fetch(np.arange(4)), images[20:])
    assert [*train.labels, *test.labels] == labels.tolist()
    assert listing(root / "downloads") == []
    assert get(about, root) == ()


def cifar100_archive():
    data = made.pixels(6, 3072)
    fine = {"coarse_labels": [0] * 3}
    batches = {
        name: pickle.dumps({"data": data[at : at + 3], "fine_labels": [at, 98, 99], **fine}, protocol=2)
        for name, at in (("train", 0), ("test", 3))
    }
    batches["meta"] = pickle.dumps({"fine_label_names": [f"c{i}" for i in range(100)]}, protocol=2)
    return made.tar({f"cifar-100-python/{name}": raw for name, raw in batches.items()}), data


def test_cifar100(root, publish):
    archive, data = cifar100_archive()
    get(publish("cifar100", {"cifar-100-python.tar.gz": archive}), root)
    test = load("cifar100")
    assert np.array_equal(test.fetch(np.arange(3)), data[3:].reshape(3, 3, 32, 32).transpose(0, 2, 3, 1))
    assert test.labels.tolist() == [3, 98, 99]
    assert test.class_names[99] == "c99"


class Evil:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (open, (str(self.mark), "w"))


def test_a_malicious_batch_is_refused_and_never_run(root, publish, tmp_path):
    mark = tmp_path / "ran"
    names = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch", "batches.meta"]
    files = {f"cifar-10-batches-py/{name}": pickle.dumps({"data": Evil(mark)}) for name in names}
    with pytest.raises(ValueError, match="not a pickle of plain arrays"):
        get(publish("cifar10", {"cifar-10-python.tar.gz": made.tar(files)}), root)
    assert not mark.exists()
    assert listing(root / "cifar10") == []
    pickle.loads(next(iter(files.values())))["data"].close()
    assert mark.exists()  # it would have


def test_a_batch_is_missing_or_of_another_shape(root, publish):
    archive = made.tar({"cifar-10-batches-py/test_batch": made.python2_batch(made.pixels(2, 3072), [1, 2])})
    with pytest.raises(ValueError, match=r"cifar-10-python\.tar\.gz: it holds no batches\.meta"):
        get(publish("cifar10", {"cifar-10-python.tar.gz": archive}), root)
    names = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch", "batches.meta"]
    archive = made.tar({name: made.python2_batch(made.pixels(2, 3000), [1, 2]) for name in names})
    (downloads(known()["cifar10"], root) / "cifar-10-python.tar.gz").unlink()
    with pytest.raises(ValueError, match="no rows of 3,072 bytes"):
        get(publish("cifar10", {"cifar-10-python.tar.gz": archive}), root)


@pytest.mark.parametrize(("name", "file"), [("cifar10-c", "CIFAR-10-C.tar"), ("cifar100-c", "CIFAR-100-C.tar")])
def test_cifar_c(root, publish, name, file):
    fog, snow = made.pixels(20, 8, 8, 3), made.pixels(20, 8, 8, 3, seed=1)
    parts = {"fog.npy": made.npy(fog), "snow.npy": made.npy(snow), "labels.npy": made.npy(np.tile(np.arange(4), 5))}
    inside = {f"{file[:-4]}/{part}": content for part, content in parts.items()}
    about = publish(name, {file: made.tar({**inside, f"{file[:-4]}/._fog.npy": b"mac"}, "w")}, ("fog", "snow"))
    (root / about.folder).mkdir()
    (root / about.folder / "fog.npy").write_bytes(made.npy(snow))
    (root / about.folder / "fog.made.json").write_text('{"tent": "1", "seed": 0}')
    assert get(about, root) == ("fog", "snow")
    assert listing(root / about.folder) == ["fog.npy", "labels.npy", "snow.npy"]
    assert np.array_equal(load(name, corruption="fog", severity=1).fetch(np.arange(4)), fog[:4])
    assert "made" not in load(name, corruption="fog").name


def test_a_cifar_c_whose_arrays_disagree_is_refused(root, publish):
    parts = {"fog.npy": made.npy(made.pixels(19, 8, 8, 3)), "labels.npy": made.npy(np.tile(np.arange(4), 5))}
    with pytest.raises(ValueError, match=r"fog\.npy does not have one image a label"):
        get(publish("cifar10-c", {"CIFAR-10-C.tar": made.tar(parts)}, ("fog",)), root)
    assert listing(root / "cifar10-c") == []


def test_cifar10_1(root, publish):
    files = {
        "cifar10.1_v6_data.npy": made.npy(made.pixels(4, 8, 8, 3)),
        "cifar10.1_v6_labels.npy": made.npy(np.arange(4, dtype=np.int32)),
    }
    assert get(publish("cifar10.1", files), root) == ("v6",)
    assert np.array_equal(load("cifar10.1").fetch(np.arange(4)), made.pixels(4, 8, 8, 3))


def test_a_cifar10_1_that_would_be_unpickled_is_refused(root, publish):
    array = np.empty(1, dtype=object)
    files = {"cifar10.1_v6_data.npy": made.npy(array), "cifar10.1_v6_labels.npy": made.npy(np.arange(4))}
    with pytest.raises(ValueError, match=r"v6_data\.npy: not a whole plain"):
        get(publish("cifar10.1", files), root)


def mnist_files():
    return {
        "train-images-idx3-ubyte.gz": made.idx(made.pixels(5, 28, 28)),
        "train-labels-idx1-ubyte.gz": made.idx(np.arange(5, dtype=np.uint8)),
        "t10k-images-idx3-ubyte.gz": made.idx(made.pixels(3, 28, 28, seed=1)),
        "t10k-labels-idx1-ubyte.gz": made.idx(np.arange(3, dtype=np.uint8)),
    }


def test_mnist_whole_or_one_split(root, publish, server):
    about = publish("mnist", mnist_files())
    assert get(about, root, ["test"]) == ("test",)
    assert len(server.ranges) == 2
    assert np.array_equal(load("mnist").fetch(np.arange(3))[..., 0], made.pixels(3, 28, 28, seed=1))
    assert get(about, root) == ("train",)
    assert load("mnist", "train").labels.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="mnist has no 'extra'; choose from train, test"):
        get(about, root, ["extra"])


def test_an_mnist_with_too_few_labels_is_refused(root, publish):
    files = {**mnist_files(), "t10k-labels-idx1-ubyte.gz": made.idx(np.arange(2, dtype=np.uint8))}
    with pytest.raises(ValueError, match="2 labels for 3 images"):
        get(publish("mnist", files), root, ["test"])
    assert known()["mnist"].there(root / "mnist") == []


def test_svhn(root, publish):
    x, y = made.pixels(32, 32, 3, 4), np.array([[1.0], [10.0], [3.0], [9.0]])
    file = made.mat(made.mat_numbers("X", x), made.mat_numbers("y", y))
    get(publish("svhn", {"test_32x32.mat": file}), root)
    images = load("svhn")
    assert np.array_equal(images.fetch(np.arange(4)), x.transpose(3, 0, 1, 2))
    assert images.labels.tolist() == [1, 0, 3, 9]


@pytest.mark.parametrize(
    ("x", "y", "said"),
    [
        (made.pixels(32, 32, 3, 4), np.array([[0.0]] * 4), "labels are 1 to 10"),
        (made.pixels(32, 32, 3, 4), np.array([[1.0]] * 3), "3 labels for 4 images"),
        (made.pixels(32, 32, 3), np.array([[1.0]] * 3), "no images X"),
    ],
)
def test_a_broken_svhn_is_refused(root, publish, x, y, said):
    file = made.mat(made.mat_numbers("X", x), made.mat_numbers("y", y))
    with pytest.raises(ValueError, match=rf"test_32x32\.mat: .*{said}"):
        get(publish("svhn", {"test_32x32.mat": file}), root)


def test_usps(root, publish):
    files = {
        "usps.bz2": made.usps(made.pixels(3, 16, 16), np.array([0, 5, 9])),
        "usps.t.bz2": made.usps(made.pixels(2, 16, 16, seed=1), np.array([3, 4])),
    }
    assert get(publish("usps", files), root) == ("train", "test")
    assert load("usps", "train").labels.tolist() == [0, 5, 9]
    assert np.array_equal(load("usps").fetch(np.arange(2))[..., 0], made.pixels(2, 16, 16, seed=1))


def mnist_m_files():
    pictures = made.pixels(4, 32, 32, 3)
    return pictures, {
        "mnist_m/mnist_m_train/a.png": made.image(pictures[0]),
        "mnist_m/mnist_m_train/b.png": made.image(pictures[1]),
        "mnist_m/mnist_m_train_labels.txt": b"b.png 7\na.png 2\n",
        "mnist_m/mnist_m_test/a.png": made.image(pictures[2]),
        "mnist_m/mnist_m_test_labels.txt": b"a.png 9\n",
    }


def test_mnist_m(root, publish):
    pictures, files = mnist_m_files()
    get(publish("mnist-m", {"mnist_m.tar.gz": made.tar(files)}), root)
    train, test = load("mnist-m", "train"), load("mnist-m")
    assert train.labels.tolist() == [7, 2]
    assert np.array_equal(train.fetch(np.arange(2)), pictures[[1, 0]])
    assert np.array_equal(test.fetch(np.arange(1)), pictures[[2]])


def test_an_mnist_m_without_an_image_or_with_a_broken_one_is_refused(root, publish):
    _, files = mnist_m_files()
    del files["mnist_m/mnist_m_train/b.png"]
    with pytest.raises(ValueError, match=r"has no b\.png"):
        get(publish("mnist-m", {"mnist_m.tar.gz": made.tar(files)}), root)
    (downloads(known()["mnist-m"], root) / "mnist_m.tar.gz").unlink()
    files["mnist_m/mnist_m_train/b.png"] = b"not an image"
    with pytest.raises(ValueError, match=r"b\.png: not a whole image"):
        get(publish("mnist-m", {"mnist_m.tar.gz": made.tar(files)}), root)


def kit():
    rows = [(1, "n03", 0), (2, "n01", 0), (3, "n02", 0), (4, "n99", 3)]
    table = [
        {
            "ILSVRC2012_ID": made.mat_numbers("", np.array([[float(number)]])),
            "WNID": made.mat_text("", name),
            "num_children": made.mat_numbers("", np.array([[float(children)]])),
        }
        for number, name, children in rows
    ]
    base = "ILSVRC2012_devkit_t12/data"
    return made.tar(
        {
            f"{base}/meta.mat": made.mat(made.mat_struct("synsets", table)),
            f"{base}/ILSVRC2012_validation_ground_truth.txt": b"2\n1\n3\n2\n",
        }
    )


def validation(count):
    picture = made.image(made.pixels(6, 7, 3), "JPEG")
    return made.tar({f"ILSVRC2012_val_{number:08}.JPEG": picture for number in range(1, count + 1)}, "w")


def test_imagenet_is_sorted_into_classes_from_files_put_in_by_hand(root, publish):
    files = {"ILSVRC2012_img_val.tar": validation(4), "ILSVRC2012_devkit_t12.tar.gz": kit()}
    about = publish("imagenet", files, classes=3)
    about = dataclasses.replace(about, files=tuple(dataclasses.replace(file, url=None) for file in about.files))
    place = downloads(about, root)
    with pytest.raises(OSError, match=r"Put into .*downloads.*ILSVRC2012_img_val\.tar; ILSVRC.*image-net\.org"):
        get(about, root)
    place.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (place / name).write_bytes(content)
    assert get(about, root) == ("val",)
    images = load("imagenet")
    assert [images.where(place) for place in range(4)] == [
        "n01/ILSVRC2012_val_00000001.JPEG",
        "n01/ILSVRC2012_val_00000004.JPEG",
        "n02/ILSVRC2012_val_00000003.JPEG",
        "n03/ILSVRC2012_val_00000002.JPEG",
    ]
    assert listing(place) == ["ILSVRC2012_devkit_t12.tar.gz", "ILSVRC2012_img_val.tar"]  # the user's own stay


def test_imagenet_with_images_missing_is_refused(root, publish):
    files = {"ILSVRC2012_img_val.tar": validation(3), "ILSVRC2012_devkit_t12.tar.gz": kit()}
    with pytest.raises(ValueError, match="3 images for 4 labels"):
        get(publish("imagenet", files), root)
    assert listing(root / "imagenet") == []


def severities(types):
    picture = made.image(made.pixels(6, 7, 3), "JPEG")
    return made.tar(
        {f"{t}/{s}/{c}/a.JPEG": picture for t in types for s in range(1, 6) for c in ("n01", "n02", "n03")}, "w"
    )


def test_imagenet_c_by_type(root, publish, server):
    files = {
        "noise.tar": severities(["gaussian_noise", "shot_noise", "impulse_noise"]),
        "weather.tar": severities(["snow", "frost", "fog", "brightness"]),
    }
    about = publish("imagenet-c", files, classes=3)
    assert get(about, root, ["fog"]) == ("fog",)
    assert len(server.ranges) == 1
    assert load("imagenet-c", corruption="snow", severity=3).labels.tolist() == [0, 1, 2]
    assert get(about, root) == ("gaussian_noise", "shot_noise", "impulse_noise")


def test_a_type_that_is_half_there_is_not_taken_for_whole(root, publish):
    about = publish("imagenet-c", {"weather.tar": severities(["snow", "frost", "fog", "brightness"])})
    (root / "imagenet-c" / "fog" / "1").mkdir(parents=True)
    with pytest.raises(FileExistsError, match="fog is there but not whole; move it away"):
        get(about, root)


def test_imagenetv2(root, publish):
    picture = made.image(made.pixels(6, 7, 3), "JPEG")
    files = {f"imagenetv2-top-images-format-val/{number}/a.jpeg": picture for number in range(3)}
    about = publish("imagenetv2", {"imagenetv2-top-images.tar.gz": made.tar(files)}, classes=3)
    assert get(about, root) == ("top-images",)
    assert load("imagenetv2", version="top-images").labels.tolist() == [0, 1, 2]


def test_visda(root, publish):
    files = {
        "validation/truck/a.jpg": made.image(made.pixels(6, 7, 3)),
        "validation/image_list.txt": b"truck/a.jpg 11\n",
    }
    get(publish("visda-c", {"validation.tar": made.tar(files, "w")}), root)
    assert load("visda-c").labels.tolist() == [11]


def test_a_visda_without_an_image_of_its_list_is_refused(root, publish):
    files = {"train/truck/a.jpg": made.image(made.pixels(6, 7, 3)), "train/image_list.txt": b"truck/b.jpg 11\n"}
    with pytest.raises(ValueError, match=r"lacks truck/b\.jpg"):
        get(publish("visda-c", {"train.tar": made.tar(files, "w")}), root)
    assert listing(root / "visda-c") == []


@pytest.mark.parametrize(
    "archive",
    [
        made.tar({"../../evil.jpg": b"1"}, "w"),
        made.tar({"/tmp/evil.jpg": b"1"}, "w"),
        made.tar_link("fog/1/n01/evil.jpg", "/etc/passwd"),
        made.tar_link("fog/1/n01/evil.jpg", "../../../../evil.jpg", tarfile.LNKTYPE),
        severities(["fog"])[:-20_000],
    ],
)
def test_an_evil_or_truncated_archive_leaves_nothing_behind(root, publish, archive):
    with pytest.raises(ValueError, match=r"weather\.tar"):
        get(publish("imagenet-c", {"weather.tar": archive}, ("fog",)), root)
    assert listing(root / "imagenet-c") == []
    assert not (root / ".imagenet-c.making").exists()
    assert not list(root.parent.glob("**/evil*"))


def test_a_file_put_in_place_that_is_not_the_published_one_is_refused_but_kept(root, publish):
    about = publish("mnist", mnist_files())
    place = downloads(about, root)
    place.mkdir(parents=True)
    (place / "t10k-images-idx3-ubyte.gz").write_bytes(b"something else")
    with pytest.raises(ValueError, match="delete it, or put the published file there"):
        get(about, root, ["test"])
    assert (place / "t10k-images-idx3-ubyte.gz").read_bytes() == b"something else"


def test_without_a_network_it_says_which_files_to_put_where_and_takes_them(root, publish, dead_url, monkeypatch):
    monkeypatch.setattr("tent.data.fetch.http.ATTEMPTS", 1)
    files = mnist_files()
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
        (downloads(about, root) / name).write_bytes(content)
    assert get(about, root) == ("train", "test")


def test_files_can_be_kept(root, publish):
    get(publish("mnist", mnist_files()), root, keep=True)
    assert len(listing(root / "downloads")) == 4


def test_a_set_is_not_laid_out_twice_at_once(root, publish):
    pytest.importorskip("fcntl")
    about = publish("mnist", mnist_files())

    def meddle(*_):
        with pytest.raises(BlockingIOError, match="another process"):
            get(about, root)

    get(about, root, progress=meddle)


def test_an_interrupted_layout_leaves_nothing_that_looks_whole(root, publish):
    about = publish("mnist", mnist_files())

    def stop(*_):
        raise KeyboardInterrupt

    stopped = dataclasses.replace(
        about, layout=lambda files, folder, progress: (about.layout(files, folder, silent), stop())
    )
    with pytest.raises(KeyboardInterrupt):
        get(stopped, root)
    assert about.there(root / "mnist") == []
    assert get(about, root) == ("train", "test")
