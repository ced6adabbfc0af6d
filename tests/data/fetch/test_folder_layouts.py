"""Sets of folders from their published archives, over http on this machine; and broken ones, refused."""

import dataclasses

import made
import numpy as np
import pytest

from tent.data import load
from tent.data.fetch.get import download_folder, get


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
    place = download_folder(about, root)
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
    assert made.listing(place) == ["ILSVRC2012_devkit_t12.tar.gz", "ILSVRC2012_img_val.tar"]  # the user's own stay


def test_imagenet_with_images_missing_is_refused(root, publish):
    files = {"ILSVRC2012_img_val.tar": validation(3), "ILSVRC2012_devkit_t12.tar.gz": kit()}
    with pytest.raises(ValueError, match="3 images for 4 labels"):
        get(publish("imagenet", files), root)
    assert made.listing(root / "imagenet") == []


def test_imagenet_c_by_type(root, publish, server):
    files = {
        "noise.tar": made.severities(["gaussian_noise", "shot_noise", "impulse_noise"]),
        "weather.tar": made.severities(["snow", "frost", "fog", "brightness"]),
    }
    about = publish("imagenet-c", files, classes=3)
    assert get(about, root, ["fog"]) == ("fog",)
    assert len(server.ranges) == 1
    assert load("imagenet-c", corruption="snow", severity=3).labels.tolist() == [0, 1, 2]
    assert get(about, root) == ("gaussian_noise", "shot_noise", "impulse_noise")


def test_a_type_that_was_whole_before_is_left_alone(root, publish):
    about = publish("imagenet-c", {"weather.tar": made.severities(["snow", "frost", "fog", "brightness"])}, classes=3)
    for severity in range(1, 6):
        for name in ("n01", "n02", "n03", "n04"):
            made.image_file(root / "imagenet-c" / "fog" / str(severity) / name / "own.png", made.pixels(4, 4, 3))
    assert get(about, root) == ("snow", "frost", "brightness")
    assert (root / "imagenet-c" / "fog" / "1" / "n04" / "own.png").is_file()
    assert load("imagenet-c", corruption="snow").labels.tolist() == [0, 1, 2]


def test_a_type_that_is_half_there_is_not_taken_for_whole(root, publish):
    about = publish("imagenet-c", {"weather.tar": made.severities(["snow", "frost", "fog", "brightness"])})
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
    assert made.listing(root / "visda-c") == []
