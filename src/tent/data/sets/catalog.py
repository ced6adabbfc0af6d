"""The published sets that are known by name."""

from tent.data.fetch import array_layouts, folder_layouts
from tent.data.segments.scene_sets import SCENES
from tent.data.sets import formats, trees
from tent.data.sets import published_files as files
from tent.data.sets.pacs import PACS
from tent.data.sets.published import Set

TEN = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
TWELVE = (
    *("aeroplane", "bicycle", "bus", "car", "horse", "knife"),
    *("motorcycle", "person", "plant", "skateboard", "train", "truck"),
)
DIGITS = tuple("0123456789")
CIFAR = {"train": 50_000, "test": 10_000}
CIFAR_C = {"test": 10_000, "train": 50_000}  # train is not published, only made
SETS = {
    known.name: known
    for known in (
        Set("cifar10", "CIFAR-10", 10, CIFAR, formats.ARRAYS, array_layouts.cifar10, files.CIFAR10, class_names=TEN),
        Set("cifar100", "CIFAR-100", 100, CIFAR, formats.ARRAYS, array_layouts.cifar100, files.CIFAR100),
        Set(
            "cifar10-c",
            "CIFAR-10-C",
            10,
            CIFAR_C,
            formats.CORRUPTED_ARRAYS,
            array_layouts.cifar_c,
            files.CIFAR10C,
            class_names=TEN,
            published_as=("CIFAR-10-C",),
            made_from="cifar10",
        ),
        Set(
            "cifar100-c",
            "CIFAR-100-C",
            100,
            CIFAR_C,
            formats.CORRUPTED_ARRAYS,
            array_layouts.cifar_c,
            files.CIFAR100C,
            published_as=("CIFAR-100-C",),
            made_from="cifar100",
        ),
        Set(
            "cifar10.1",
            "CIFAR-10.1",
            10,
            {"test": 2_000},
            formats.VERSIONED_ARRAYS,
            array_layouts.copy_arrays,
            files.CIFAR101,
            class_names=TEN,
        ),
        Set(
            "mnist",
            "MNIST",
            10,
            {"train": 60_000, "test": 10_000},
            formats.ARRAYS,
            array_layouts.mnist,
            files.MNIST,
            class_names=DIGITS,
        ),
        Set(
            "mnist-m",
            "MNIST-M",
            10,
            {"train": 59_001, "test": 9_001},
            formats.ARRAYS,
            array_layouts.mnist_m,
            files.MNIST_M,
            class_names=DIGITS,
            folder="mnist_m",
        ),
        Set(
            "svhn",
            "SVHN",
            10,
            {"train": 73_257, "test": 26_032},
            formats.ARRAYS,
            array_layouts.svhn,
            files.SVHN,
            class_names=DIGITS,
        ),
        Set(
            "usps",
            "USPS",
            10,
            {"train": 7_291, "test": 2_007},
            formats.ARRAYS,
            array_layouts.usps,
            files.USPS,
            class_names=DIGITS,
        ),
        Set(
            "imagenet",
            "ImageNet validation",
            1000,
            {"val": 50_000},
            trees.CLASS_TREE,
            folder_layouts.imagenet,
            files.IMAGENET,
            terms="register at https://image-net.org to download it",
        ),
        Set(
            "imagenet-c",
            "ImageNet-C",
            1000,
            {"val": 50_000},
            trees.CORRUPTED_TREE,
            folder_layouts.unpack_images,
            files.IMAGENETC,
            published_as=("ImageNet-C",),
            made_from="imagenet",
        ),
        Set(
            "imagenet-val5k",
            "ImageNet validation, five images a class",
            1000,
            {"val": 5_000},
            trees.INDEXED_TREE,
            terms="ILSVRC2012_img_val_subset of ndb796/Small-ImageNet-Validation-Dataset-1000-Classes on GitHub, its"
            " folders named 0000 to 0999, and its imagenet_class_index.json as classes.json",
        ),
        Set(
            "imagenet-val5k-c",
            "ImageNet-C of five images a class",
            1000,
            {"val": 5_000},
            trees.CORRUPTED_TREE,
            made_from="imagenet-val5k",
        ),
        Set(
            "imagenetv2",
            "ImageNetV2",
            1000,
            {"test": 10_000},
            trees.NUMBERED_TREE,
            folder_layouts.unpack_images,
            files.IMAGENETV2,
            published_as=("ImageNetV2",),
        ),
        Set(
            "visda-c",
            "VisDA-C",
            12,
            {"train": 152_397, "validation": 55_388},
            trees.LIST,
            folder_layouts.visda,
            files.VISDAC,
            class_names=TWELVE,
            published_as=("VisDA-C", "visda"),
        ),
        *PACS,
        *SCENES,
    )
}


def known_sets() -> dict[str, Set]:
    """Return every set that is known by name."""
    return dict(SETS)


def find_set(name: str) -> Set | None:
    """Return one set by its name, however its parts are joined, if there is one."""
    return SETS.get(name.lower().replace("_", "-"))


def get_set(name: str) -> Set:
    """Return one set by its name, which must be known."""
    found = find_set(name)
    if found is None:
        raise ValueError(f"no set is called {name!r}; there are {', '.join(SETS)}")
    return found
