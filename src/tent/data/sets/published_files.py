"""The files that sets were published as: names, addresses, lengths and sums."""

from tent.data.fetch import folder_layouts
from tent.data.sets.published import File

GROUPS = {  # ImageNet-C's archives, and the types in each
    "noise": ("gaussian_noise", "shot_noise", "impulse_noise"),
    "blur": ("defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
    "weather": ("snow", "frost", "fog", "brightness"),
    "digital": ("contrast", "elastic_transform", "pixelate", "jpeg_compression"),
    "extra": ("speckle_noise", "gaussian_blur", "spatter", "saturate"),
}
TYPES = tuple(type_ for group in GROUPS.values() for type_ in group)
BOTH = ("train", "test")
KRIZ = "https://www.cs.toronto.edu/~kriz"
LECUN = "https://ossci-datasets.s3.amazonaws.com/mnist"
STREET = "http://ufldl.stanford.edu/housenumbers"
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass"
MODEST = "https://github.com/modestyachts/CIFAR-10.1/raw/master/datasets"
ZENODO = "https://zenodo.org/records"
SHANKAR = "https://huggingface.co/datasets/vaishaal/ImageNetV2/resolve/main"
VISDA = "http://csr.bu.edu/ftp/visda17/clf"


def _file(
    site: str,
    name: str,
    gives: tuple[str, ...],
    bytes: int | None = None,
    md5: str | None = None,
    sha256: str | None = None,
) -> File:
    return File(name, f"{site}/{name}", gives, bytes, md5, sha256)


# sums are those published: by torchvision (CIFAR, MNIST, SVHN, USPS, ImageNet), by Zenodo (the -C sets), by
# TensorFlow Datasets (CIFAR-10.1, ImageNetV2) and by pytorch-adapt (MNIST-M); VisDA-C has none
CIFAR10 = (_file(KRIZ, "cifar-10-python.tar.gz", BOTH, 170_498_071, "c58f30108f718f92721af3b95e74349a"),)
CIFAR100 = (_file(KRIZ, "cifar-100-python.tar.gz", BOTH, 169_001_437, "eb9058c3a382ffc7106e4002c42a8d85"),)
CIFAR10C = (
    _file(f"{ZENODO}/2535967/files", "CIFAR-10-C.tar", TYPES, 2_918_471_680, "56bf5dcef84df0e2308c6dcbcbbd8499"),
)
CIFAR100C = (
    _file(f"{ZENODO}/3555552/files", "CIFAR-100-C.tar", TYPES, 2_918_473_216, "11f0ed0f1191edbf9fa23466ae6021d3"),
)
CIFAR101 = tuple(
    _file(MODEST, f"cifar10.1_{version}_{part}.npy", (version,), size, sha256=sha256)
    for version, part, size, sha256 in (
        ("v6", "data", 6_144_128, "2997188e5816f5bd545dc77771b6227828c28146049fcecf3fa10775474cacc6"),
        ("v6", "labels", 8_128, "ae40beda001693674edc94d925ee8268cfe68905f8f9aff800c8dcdfcd6c9448"),
        ("v4", "data", 6_208_640, "5aaedc268df8f4cffca2ac0cf9e608ae1897a8cddb630c7a850a2ea8f6558e75"),
        ("v4", "labels", 8_212, "1f9544300ded199539b6662364ce7fe6c2e1ea9f87408f06db4b1a6184cffb18"),
    )
)
MNIST = tuple(
    _file(LECUN, name, (split,), size, md5)
    for name, split, size, md5 in (
        ("train-images-idx3-ubyte.gz", "train", 9_912_422, "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        ("train-labels-idx1-ubyte.gz", "train", 28_881, "d53e105ee54ea40749a09fcbcd1e9432"),
        ("t10k-images-idx3-ubyte.gz", "test", 1_648_877, "9fb629c4189551a2d022fa330f9573f3"),
        ("t10k-labels-idx1-ubyte.gz", "test", 4_542, "ec29112dd5afa0611ce80d1b7f02629c"),
    )
)
SVHN = (
    _file(STREET, "train_32x32.mat", ("train",), 182_040_794, "e26dedcc434d2e4c54c9b2d4a06d8373"),
    _file(STREET, "test_32x32.mat", ("test",), 64_275_384, "eb5a983be6a315427106f1b164d9cef3"),
)
USPS = (
    _file(LIBSVM, "usps.bz2", ("train",), md5="ec16c51db3855ca6c91edd34d0e9b197"),
    _file(LIBSVM, "usps.t.bz2", ("test",), md5="8ea070ee2aca1ac39742fdd1ef5ed118"),
)
MNIST_M = (
    File(
        "mnist_m.tar.gz",
        "https://cornell.box.com/shared/static/jado7quprg6hzzdubvwzh9umr75damwi",
        BOTH,
        md5="859df31c91afe82e80e5012ba928f279",
    ),
)
IMAGENET = (
    File(folder_layouts.VALIDATION, None, ("val",), 6_744_924_160, "29b22e2961454d5413ddabcf34fc5622"),
    File(folder_layouts.KIT, None, ("val",), md5="fa75699e90414af021442c21a62c3abf"),
)
IMAGENETC = tuple(
    _file(f"{ZENODO}/2235448/files", f"{group}.tar", GROUPS[group], size, md5)
    for group, size, md5 in (
        ("noise", 22_565_673_785, "e80562d7f6c3f8834afb1ecf27252745"),
        ("blur", 7_112_704_951, "2d8e81fdd8e07fef67b9334fa635e45c"),
        ("weather", 12_797_438_995, "33ffea4db4d93fe4a428c40a6ce0c25d"),
        ("digital", 7_757_510_705, "89157860d7b10d5797849337ca2e5c03"),
        ("extra", 15_789_490_144, "d492dfba5fc162d8ec2c3cd8ee672984"),
    )
)
IMAGENETV2 = tuple(
    _file(SHANKAR, f"imagenetv2-{version}.tar.gz", (version,), size, sha256=sha256)
    for version, size, sha256 in (
        ("matched-frequency", 1_264_079_360, "f0c37fdf925916b19ea1323cd9a2208cdb6959ba2c32eef2a7fc393835c9ca7c"),
        ("threshold0.7", 1_249_906_176, "32142bfe998f9cfa4141be691f6a80eeb1e27b24bd532a668eb08c26d98897a2"),
        ("top-images", 1_245_927_936, "85e4ace30f3f0d660152062254b8759dda66267b27f7ec0fd8d5768f1073a04b"),
    )
)
VISDAC = tuple(_file(VISDA, f"{split}.tar", (split,)) for split in ("train", "validation"))
