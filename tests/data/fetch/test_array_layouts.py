"""Small sets from their published files to arrays, over http on this machine; and broken ones, refused."""

import pickle

import made
import numpy as np
import pytest

from tent.data import known_sets, load
from tent.data.fetch.get import download_folder, get


def test_cifar10(root, publish):
    archive, images, labels = made.cifar10_archive()
    about = publish("cifar10", {"cifar-10-python.tar.gz": archive})
    assert get(about, root) == ("train", "test")
    assert made.listing(root / "cifar10") == [
        *("class_names.txt", "test_images.npy", "test_labels.npy", "train_images.npy", "train_labels.npy")
    ]
    train, test = load("cifar10", "train"), load("cifar10", "test")
    assert np.array_equal(train.fetch(np.arange(20)), images[:20])
    assert np.array_equal(test.fetch(np.arange(4)), images[20:])
    assert [*train.labels, *test.labels] == labels.tolist()
    assert made.listing(root / "downloads") == []
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
    assert made.listing(root / "cifar10") == []
    pickle.loads(next(iter(files.values())))["data"].close()
    assert mark.exists()  # it would have


def test_a_batch_is_missing_or_of_another_shape(root, publish):
    archive = made.tar({"cifar-10-batches-py/test_batch": made.python2_batch(made.pixels(2, 3072), [1, 2])})
    with pytest.raises(ValueError, match=r"cifar-10-python\.tar\.gz: it holds no batches\.meta"):
        get(publish("cifar10", {"cifar-10-python.tar.gz": archive}), root)
    names = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch", "batches.meta"]
    archive = made.tar({name: made.python2_batch(made.pixels(2, 3000), [1, 2]) for name in names})
    (download_folder(known_sets()["cifar10"], root) / "cifar-10-python.tar.gz").unlink()
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
    assert made.listing(root / about.folder) == ["fog.npy", "labels.npy", "snow.npy"]
    assert np.array_equal(load(name, corruption="fog", severity=1).fetch(np.arange(4)), fog[:4])
    assert "made" not in load(name, corruption="fog").name


def test_a_cifar_c_whose_arrays_disagree_is_refused(root, publish):
    parts = {"fog.npy": made.npy(made.pixels(19, 8, 8, 3)), "labels.npy": made.npy(np.tile(np.arange(4), 5))}
    with pytest.raises(ValueError, match=r"fog\.npy does not have one image a label"):
        get(publish("cifar10-c", {"CIFAR-10-C.tar": made.tar(parts)}, ("fog",)), root)
    assert made.listing(root / "cifar10-c") == []


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


def test_mnist_whole_or_one_split(root, publish, server):
    about = publish("mnist", made.mnist_files())
    assert get(about, root, ["test"]) == ("test",)
    assert len(server.ranges) == 2
    assert np.array_equal(load("mnist").fetch(np.arange(3))[..., 0], made.pixels(3, 28, 28, seed=1))
    assert get(about, root) == ("train",)
    assert load("mnist", "train").labels.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="mnist has no 'extra'; choose from train, test"):
        get(about, root, ["extra"])


def test_an_mnist_with_too_few_labels_is_refused(root, publish):
    files = {**made.mnist_files(), "t10k-labels-idx1-ubyte.gz": made.idx(np.arange(2, dtype=np.uint8))}
    with pytest.raises(ValueError, match="2 labels for 3 images"):
        get(publish("mnist", files), root, ["test"])
    assert known_sets()["mnist"].pieces_in(root / "mnist") == []


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
    (download_folder(known_sets()["mnist-m"], root) / "mnist_m.tar.gz").unlink()
    files["mnist_m/mnist_m_train/b.png"] = b"not an image"
    with pytest.raises(ValueError, match=r"b\.png: not a whole image"):
        get(publish("mnist-m", {"mnist_m.tar.gz": made.tar(files)}), root)


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("svhn", {"test_32x32.mat": made.mat(made.mat_text("X", "text"), made.mat_text("y", "text"))}),
        ("mnist-m", {"mnist_m.tar.gz": made.tar({"mnist_m_test_labels.txt": b"one two three\n"})}),
        ("cifar10", {"cifar-10-python.tar.gz": "a list in place of a batch"}),
    ],
    ids=["svhn", "mnist-m", "cifar10"],
)
def test_a_whole_file_that_holds_something_else_is_refused_by_name(root, publish, name, files):
    if name == "cifar10":
        batch = made.python2_batch(made.pixels(2, 3072), [1, 2])
        inside = {**{f"data_batch_{i}": batch for i in range(1, 6)}, "test_batch": batch}
        files = {next(iter(files)): made.tar({**inside, "batches.meta": pickle.dumps([1], protocol=2)})}
    with pytest.raises(ValueError, match=next(iter(files))):
        get(publish(name, files), root)
    assert made.listing(root / known_sets()[name].folder) == []
