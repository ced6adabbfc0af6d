"""The published sets that are known by name: what they look like, and the functions that know their form."""

from tent.data import forms, sources, there
from tent.data.fetch import layouts, trees
from tent.data.published import Set

TEN = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
TWELVE = (
    *("aeroplane", "bicycle", "bus", "car", "horse", "knife"),
    *("motorcycle", "person", "plant", "skateboard", "train", "truck"),
)
DIGITS = tuple("0123456789")
SETS = {
    known.name: known
    for known in (
        Set(
            "cifar10",
            "CIFAR-10",
            "cifar10",
            10,
            {"train": 50_000, "test": 10_000},
            forms.plain,
            there.plain,
            layouts.cifar10,
            sources.CIFAR10,
            TEN,
        ),
        Set(
            "cifar100",
            "CIFAR-100",
            "cifar100",
            100,
            {"train": 50_000, "test": 10_000},
            forms.plain,
            there.plain,
            layouts.cifar100,
            sources.CIFAR100,
        ),
        Set(
            "cifar10-c",
            "CIFAR-10-C",
            "cifar10-c",
            10,
            {"test": 10_000},
            forms.corrupted_arrays,
            there.corrupted_arrays,
            layouts.corrupted,
            sources.CIFAR10C,
            TEN,
            ("CIFAR-10-C",),
            "cifar10",
        ),
        Set(
            "cifar100-c",
            "CIFAR-100-C",
            "cifar100-c",
            100,
            {"test": 10_000},
            forms.corrupted_arrays,
            there.corrupted_arrays,
            layouts.corrupted,
            sources.CIFAR100C,
            None,
            ("CIFAR-100-C",),
            "cifar100",
        ),
        Set(
            "cifar10.1",
            "CIFAR-10.1",
            "cifar10.1",
            10,
            {"test": 2_000},
            forms.versioned,
            there.versioned,
            layouts.arrays,
            sources.CIFAR101,
            TEN,
        ),
        Set(
            "mnist",
            "MNIST",
            "mnist",
            10,
            {"train": 60_000, "test": 10_000},
            forms.plain,
            there.plain,
            layouts.mnist,
            sources.MNIST,
            DIGITS,
        ),
        Set(
            "mnist-m",
            "MNIST-M",
            "mnist_m",
            10,
            {"train": 59_001, "test": 9_001},
            forms.plain,
            there.plain,
            layouts.mnist_m,
            sources.MNIST_M,
            DIGITS,
        ),
        Set(
            "svhn",
            "SVHN",
            "svhn",
            10,
            {"train": 73_257, "test": 26_032},
            forms.plain,
            there.plain,
            layouts.svhn,
            sources.SVHN,
            DIGITS,
        ),
        Set(
            "usps",
            "USPS",
            "usps",
            10,
            {"train": 7_291, "test": 2_007},
            forms.plain,
            there.plain,
            layouts.usps,
            sources.USPS,
            DIGITS,
        ),
        Set(
            "imagenet",
            "ImageNet validation",
            "imagenet",
            1000,
            {"val": 50_000},
            forms.class_tree,
            there.class_tree,
            trees.imagenet,
            sources.IMAGENET,
            terms="register at https://image-net.org to download it",
        ),
        Set(
            "imagenet-c",
            "ImageNet-C",
            "imagenet-c",
            1000,
            {"val": 50_000},
            forms.corrupted_tree,
            there.corrupted_tree,
            trees.as_archived,
            sources.IMAGENETC,
            None,
            ("ImageNet-C",),
        ),
        Set(
            "imagenetv2",
            "ImageNetV2",
            "imagenetv2",
            1000,
            {"test": 10_000},
            forms.numbered_tree,
            there.numbered_tree,
            trees.as_archived,
            sources.IMAGENETV2,
            None,
            ("ImageNetV2",),
        ),
        Set(
            "visda-c",
            "VisDA-C",
            "visda-c",
            12,
            {"train": 152_397, "validation": 55_388},
            forms.listed,
            there.listed,
            trees.visda,
            sources.VISDAC,
            TWELVE,
            ("VisDA-C", "visda"),
        ),
    )
}


def known() -> dict[str, Set]:
    """Return every set that is known by name."""
    return dict(SETS)


def find(name: str) -> Set | None:
    """Return one set by its name, however its parts are joined, if there is one."""
    return SETS.get(name.lower().replace("_", "-"))


def named(name: str) -> Set:
    """Return one set by its name, which must be known."""
    found = find(name)
    if found is None:
        raise ValueError(f"no set is called {name!r}; there are {', '.join(SETS)}")
    return found
