"""Street scenes in their published layouts, and what is said of those that are not whole."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scenes_made as made
from command import tent
from PIL import Image
from torch import nn

from tent.bench.case import Data
from tent.bench.execute.inputs import _check_answerable
from tent.data import Preprocess, Stream, load
from tent.data.order import Stored
from tent.data.segments.class_map import CAMVID, CITYSCAPES, SHARED_CLASSES
from tent.data.segments.label_maps import LabelMapImages
from tent.data.segments.tiles import TiledImages
from tent.data.sets.catalog import get_set
from tent.data.sets.images import Images
from tent.models.entry import Entry


def classes_of(images: Images) -> list[int]:
    found = images.targets(np.arange(len(images)))
    assert found is not None
    return np.unique(found).tolist()


def test_cityscapes(tmp_path: Path) -> None:
    made.cityscapes(tmp_path / "cityscapes", "train", ("ulm_000001_000019", "bonn_000002_000019"))
    made.cityscapes(tmp_path / "cityscapes")
    images = load("cityscapes", "train", tmp_path)
    assert images.where(0) == "leftImg8bit/train/bonn/bonn_000002_000019_leftImg8bit.png"
    assert images.name == "cityscapes train (2 of the published 2,975 images)"
    assert (images.classes, images.labelled, images.labels) == (19, True, None)
    assert classes_of(images) == [*range(19), 255]
    table = {id_: int(CITYSCAPES.table[id_]) for id_ in range(34) if CITYSCAPES.table[id_] != 255}
    due = {7: 0, 8: 1, 11: 2, 12: 3, 13: 4, 17: 5, **{i: i - 13 for i in range(19, 29)}, 31: 16, 32: 17, 33: 18}
    assert table == due
    assert len(load("cityscapes", root=tmp_path)) == 1
    assert get_set("cityscapes").pieces_in(tmp_path / "cityscapes") == ["train", "val"]


@pytest.mark.parametrize("name", ["carla", "cityscapes-small", "camvid"])
def test_seven_classes_are_shared(tmp_path: Path, name: str) -> None:
    made.pairs(tmp_path / "carla", [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12], mode="RGBA")
    (tmp_path / "carla/valid.txt").write_text("00001.png\n")
    made.cityscapes(tmp_path / "cityscapes-small")
    made.camvid(tmp_path / "camvid")
    images = load(f"{name}-7", root=tmp_path)
    assert images.class_names == SHARED_CLASSES
    assert classes_of(images) == [*range(7), 255]
    own = load(name, root=tmp_path)
    assert (own.sha256 != images.sha256, len(own)) == (True, 1)


@pytest.mark.parametrize("name", ["cityscapes", "cityscapes-7"])
def test_train_ids_in_the_place_of_published_ids_are_refused(tmp_path: Path, name: str) -> None:
    made.cityscapes(tmp_path / "cityscapes")
    (label,) = (tmp_path / "cityscapes/gtFine/val").rglob("*_labelIds.png")
    made.ids(label, [*range(19), 255])
    with pytest.raises(ValueError, match=r"_labelIds\.png: holds trainIds \(ids below 19, and 255\), which mean other"):
        classes_of(load(name, root=tmp_path))
    made.ids(label, [7, 8, 11, 255])  # published ids with a border of 255 may be either, and so are refused
    with pytest.raises(ValueError, match="holds trainIds"):
        classes_of(load(name, root=tmp_path))
    for allowed in ([7, 8, 11], [7, 8, 26, 255], [255]):  # no 255, an id that only published maps have, nothing at all
        made.ids(label, allowed)
        assert len(classes_of(load(name, root=tmp_path))) == len(allowed)


def test_what_the_shared_classes_are_made_of() -> None:
    due = {
        "carla-7": {6: "road", 7: "road", 8: "sidewalk", 1: "building", 2: "building", 11: "building", 5: "pole"}
        | {12: "sign", 9: "vegetation", 10: "car"},
        "cityscapes-7": {7: "road", 8: "sidewalk", 11: "building", 12: "building", 13: "building", 17: "pole"}
        | {20: "sign", 21: "vegetation", 26: "car"},
        "camvid-7": {3: "road", 4: "sidewalk", 1: "building", 7: "building", 2: "pole", 6: "sign", 5: "vegetation"}
        | {8: "car"},
    }
    for name, ids in due.items():
        class_map = get_set(name).format.open.keywords["ids"]  # type: ignore[attr-defined]
        assert {id_: class_map.names[place] for id_, place in class_map.classes.items()} == ids


def test_carla_keeps_what_is_above_the_bonnet(tmp_path: Path) -> None:
    made.pairs(tmp_path / "carla", [7, 10], mode="RGBA")
    (tmp_path / "carla/valid.txt").write_text("00000.png\n00002.png\n")
    train, test = load("carla", "train", tmp_path), load("carla", "test", tmp_path)
    assert (len(train), len(test)) == (1, 2)
    (image,) = train.fetch(np.arange(1))
    assert image.shape == (11, 16, 3)
    assert train.targets(np.arange(1)).shape == (1, 11, 16)  # type: ignore[union-attr]


def test_gta5_palettes_are_never_read_as_colours(tmp_path: Path) -> None:
    made.pairs(tmp_path / "gta5", [7, 26, 0], palette=True)
    images = load("gta5", "train", tmp_path)
    assert classes_of(images) == [0, 13, 255]


@pytest.mark.parametrize(("ids", "colours"), [([7, 8, 26], 8), ([7, 8, 11, 26, 23, 21, 0, 17, 24], 8), ([7, 24], 256)])
def test_gta5_refuses_ids_that_were_given_out_anew(tmp_path: Path, ids: list[int], colours: int) -> None:
    """A picture in colours that was saved with few of them has a palette, too, and other ids."""
    root = made.pairs(tmp_path / "gta5", ids, palette=True, images=8)
    path = root / "labels/00001.png"
    with Image.open(path) as image:
        image.convert("RGB").quantize(colours).save(path)
    images = load("gta5", "train", tmp_path)
    assert images.targets(np.array([0])) is not None
    with pytest.raises(ValueError, match=r"00001\.png: its palette gives the id \d+ the colour .*; take the map as"):
        images.targets(np.array([1]))


def test_the_command_refuses_them_and_needs_no_maps_where_it_takes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = made.pairs(tmp_path / "sets/gta5", [7, 8, 26], palette=True, images=8)
    monkeypatch.setenv("TENT_DATA", str(tmp_path / "sets"))
    (tmp_path / "nets.py").write_text(
        "from torch import nn\n\ndef net():\n    return nn.Sequential(nn.Conv2d(3, 19, 3, 2, 1), nn.BatchNorm2d(19))\n"
    )
    with Image.open(root / "labels/00007.png") as image:  # of the test split
        image.convert("RGB").quantize(8).save(root / "labels/00007.png")
    command = ("adapt", "nets.py:net", "gta5", "--mean", "0.5", "--std", "0.2", "--panels", "0", "--out")
    ran = tent(tmp_path, *command, "first")
    assert (ran.returncode, "00007.png: its palette gives the id" in ran.stderr) == (2, True), ran.stderr
    shutil.rmtree(root / "labels")
    assert "no such label map and 1 more" in tent(tmp_path, *command, "second").stderr
    ran = tent(tmp_path, *command, "third", "--unlabelled")
    assert ran.returncode == 0, ran.stderr
    assert len(list((tmp_path / "third/label_maps").rglob("*.png"))) == 2


def test_gta5_takes_ids_as_grey(tmp_path: Path) -> None:
    root = made.pairs(tmp_path / "gta5", [7, 26, 0])
    with Image.open(root / "labels/00000.png") as image:
        image.putpalette([i // 3 for i in range(768)])
        image.save(root / "labels/00000.png")
    assert classes_of(load("gta5", "train", tmp_path)) == [0, 13, 255]


def test_gta5_is_split_as_its_authors_do_or_by_the_order_of_names(tmp_path: Path) -> None:
    from scipy.io import savemat

    made.pairs(tmp_path / "gta5", [7, 26], images=8)
    whole = {split: load("gta5", split, tmp_path) for split in ("train", "val", "test")}
    numbers = {split: [images.where(i) for i in range(len(images))] for split, images in whole.items()}
    shares = {"train": range(4), "val": range(4, 6), "test": range(6, 8)}  # 50, 25 and 25% of the published images
    assert numbers == {split: [f"images/{i:05d}.png" for i in own] for split, own in shares.items()}
    published = "gta5 train (4 of the published 12,403 images), split by the order of names"
    assert whole["train"].name == published
    own = {"trainIds": [[1], [5]], "valIds": [[2]], "testIds": [[7], [9999]]}
    savemat(tmp_path / "gta5/split.mat", {name: np.array(ids) for name, ids in own.items()})
    train, test = load("gta5", "train", tmp_path), load("gta5", "test", tmp_path)
    assert [train.where(i) for i in range(len(train))] == ["images/00001.png", "images/00005.png"]
    assert (test.where(0), len(test)) == ("images/00007.png", 1)  # what was not brought is not missed
    assert train.name == "gta5 train (2 of the published 12,403 images)"
    (tmp_path / "gta5/split.mat").write_bytes(b"no matrices")
    with pytest.raises(ValueError, match=r"split.mat: not the split of GTA5 .*; fetch it again, or move it away"):
        load("gta5", "train", tmp_path)


def test_camvid_judges_on_its_test_split(tmp_path: Path) -> None:
    made.camvid(tmp_path / "camvid")
    assert load("camvid", "test", tmp_path).where(0) == "test/test_1.png"
    assert load("camvid", "val", tmp_path).where(0) == "val/val_1.png"
    assert load("camvid", "train", tmp_path).class_names[4] == "pavement"  # type: ignore[index]


def test_a_pair_of_folders_with_a_class_map(tmp_path: Path) -> None:
    made.pairs(tmp_path, [3, 4, 9])
    (tmp_path / "classes.json").write_text('{"9": "ground", "3": "sky", "4": "sky"}')
    where = f"pairs:{tmp_path / 'images'},{tmp_path / 'labels'}"
    images = load(f"{where},{tmp_path / 'classes.json'}")
    assert (images.class_names, classes_of(images)) == (("sky", "ground"), [0, 1])
    (tmp_path / "fewer.json").write_text('{"9": "ground", "3": null, "4": null}')
    assert classes_of(load(f"{where},{tmp_path / 'fewer.json'}")) == [0, 255]
    assert (load(where).classes, classes_of(load(where))) == (None, [3, 4, 9])
    (tmp_path / "names.txt").write_text("\n".join(f"class {i}" for i in range(10)))
    assert load(f"{where},{tmp_path / 'names.txt'}").classes == 10


def test_images_and_maps_are_resized_and_cropped_together(tmp_path: Path) -> None:
    made.pairs(tmp_path, [0], images=1)
    left = np.repeat([[0] * 8 + [200] * 8], 12, 0).astype(np.uint8)
    made.ids(tmp_path / "labels/00000.png", left // 100)
    Image.fromarray(np.stack([left] * 3, -1)).save(tmp_path / "images/00000.png")
    images = load(f"pairs:{tmp_path / 'images'},{tmp_path / 'labels'}")
    for prepare in (Preprocess(), Preprocess(size=24), Preprocess((24, 32), (10, 14)), Preprocess(crop=(6, 10))):
        batch = next(iter(Stream(images, 1, preprocess=prepare)))
        assert batch.inputs.shape[2:] == batch.labels.shape[1:]
        bright = batch.inputs[:, 0] > 0.4
        assert bool((batch.labels.bool() == bright).all())
        assert set(batch.labels.unique().tolist()) == {0, 2}


def test_sizes_that_differ_need_a_size_or_batches_of_one(tmp_path: Path) -> None:
    made.pairs(tmp_path, [0], images=1)
    made.picture(tmp_path / "images/b.png", 20, 30)
    Image.fromarray(np.zeros((20, 30), np.uint8)).save(tmp_path / "labels/b.png")
    images = load(f"pairs:{tmp_path / 'images'},{tmp_path / 'labels'}")
    sizes = {tuple(batch.labels.shape) for batch in Stream(images, 1)}
    assert sizes == {(1, 12, 16), (1, 20, 30)}
    with pytest.raises(ValueError, match="one batch has images of 12x16 and 20x30; give the preprocessing a size"):
        next(iter(Stream(images, 2)))
    assert next(iter(Stream(images, 2, preprocess=Preprocess(size=(8, 8))))).labels.shape == (2, 8, 8)


def wrong(tmp_path: Path, kind: str) -> LabelMapImages:
    root = made.pairs(tmp_path / "gta5", [7, 8], images=4)
    label = root / "labels/00001.png"
    if kind == "missing":
        label.unlink()
    elif kind == "colours":
        made.picture(label)
    elif kind == "id":
        made.ids(label, [7, 77])
    elif kind == "train ids":
        made.ids(label, [0, 5, 18, 255])
    elif kind == "size":
        Image.fromarray(np.zeros((12, 15), np.uint8)).save(label)
    elif kind == "damaged":
        label.write_bytes(label.read_bytes()[:40])
    elif kind == "deep":
        Image.fromarray(np.full((12, 16), 700, np.uint16)).save(label)
    elif kind == "empty":
        for path in root.glob("images/*"):
            path.unlink()
    return load("gta5", "train", tmp_path)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("missing", r"labels/00001\.png: no such label map, though its image is there; bring it by hand"),
        ("colours", r"00001\.png: a picture in colours \(RGB\), not a map of ids; save one number a pixel"),
        ("id", r"00001\.png: holds the id 77, which is no class and not 255; wrong label maps\?"),
        ("train ids", r"00001\.png: holds trainIds \(ids below 19, and 255\), which mean other classes"),
        ("size", r"00001\.png: a map of 12x15 for an image of 12x16; labels and images must be of one size"),
        ("damaged", r"00001\.png: not a whole label map"),
        ("deep", r"00001\.png: holds the id 700; ids are from 0 to 255"),
        ("empty", r"gta5: no images; bring it by hand"),
    ],
)
def test_each_wrong_thing_is_one_line(tmp_path: Path, kind: str, said: str) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=said) as caught:
        list(Stream(wrong(tmp_path, kind), 1))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cityscapes", "leftImg8bit/val: no such folder; bring it by hand: register at https://www.cityscapes-dataset"),
        ("carla", "images: no such folder; bring it by hand"),
        ("pairs:here", "give a folder of images, one of label maps, and perhaps a file of classes"),
        ("pairs:here,there,classes.json", "there is no such class map"),
    ],
)
def test_what_is_not_there_is_one_line(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=said):
        load(name, root=tmp_path)


@pytest.mark.parametrize("text", ['["road"]', '{"a": "road"}', '{"300": "road"}', "{"])
def test_a_class_map_that_is_none(tmp_path: Path, text: str) -> None:
    made.pairs(tmp_path, [0])
    (tmp_path / "classes.json").write_text(text)
    with pytest.raises(ValueError, match=r"classes\.json: not a class map"):
        load(f"pairs:{tmp_path / 'images'},{tmp_path / 'labels'},{tmp_path / 'classes.json'}")


def test_classes_of_a_map_come_in_the_order_of_ids(tmp_path: Path) -> None:
    made.pairs(tmp_path, [1, 0, 2])
    (tmp_path / "classes.json").write_text('{"2": "car", "0": "road", "1": null}')
    images = load(f"pairs:{tmp_path / 'images'},{tmp_path / 'labels'},{tmp_path / 'classes.json'}")
    assert images.class_names == ("road", "car")
    assert classes_of(images) == [0, 1, 255]


@pytest.mark.parametrize(
    ("names", "said"),
    [(["road", "car", "road"], "the name 'road' is there twice"), ([str(i) for i in range(256)], "256 names")],
)
def test_a_list_of_classes_that_cannot_be_told_apart(tmp_path: Path, names: list[str], said: str) -> None:
    made.pairs(tmp_path, [0])
    (tmp_path / "classes.txt").write_text("\n".join(names))
    with pytest.raises(ValueError, match=said):
        load(f"pairs:{tmp_path / 'images'},{tmp_path / 'labels'},{tmp_path / 'classes.txt'}")


def test_a_benchmark_refuses_a_model_of_as_many_other_classes(tmp_path: Path) -> None:
    made.pairs(tmp_path / "carla", [7, 10], mode="RGBA")
    (tmp_path / "carla/valid.txt").write_text("00001.png\n")
    images = load("carla", root=tmp_path)
    entry = Entry("camvid-net", nn.Identity(), Preprocess(), len(CAMVID.names), CAMVID.names)
    assert entry.classes == images.classes
    with pytest.raises(ValueError, match="its class 0 is 'building', but camvid-net's is 'sky'"):
        _check_answerable(entry, images, Data("carla"))
    _check_answerable(replace(entry, class_names=images.class_names), images, Data("carla"))


def test_names_in_a_list_may_have_spaces(tmp_path: Path) -> None:
    made.pairs(tmp_path / "carla", [7])
    made.picture(tmp_path / "carla/images/town 1.png")
    made.ids(tmp_path / "carla/labels/town 1.png", [7])
    (tmp_path / "carla/valid.txt").write_text("town 1.png\n\n00001.png \n")
    images = load("carla", "test", tmp_path)
    assert [images.where(i) for i in range(len(images))] == ["images/00001.png", "images/town 1.png"]


@pytest.mark.parametrize("name", ["cityscapes", "gta5", "carla", "camvid-7"])
def test_images_alone_need_no_label_maps(tmp_path: Path, name: str) -> None:
    made.cityscapes(tmp_path / "cityscapes")
    made.camvid(tmp_path / "camvid")
    for each in ("gta5", "carla"):
        made.pairs(tmp_path / each, [7], images=4)
        (tmp_path / each / "valid.txt").write_text("00003.png")
    for folder in ("cityscapes/gtFine", "camvid/testannot", "gta5/labels", "carla/labels"):
        (tmp_path / folder).rename(tmp_path / f"away-{folder.replace('/', '-')}")
    with pytest.raises(FileNotFoundError, match="no such label map"):
        load(name, root=tmp_path)
    images = load(name, root=tmp_path, labelled=False)
    assert (len(images), images.labelled, images.classes, len(images.sha256)) == (1, False, None, 64)
    assert next(iter(Stream(images, 1))).labels is None


def test_no_test_split_without_a_list_and_no_list_of_strangers(tmp_path: Path) -> None:
    made.pairs(tmp_path / "carla", [7])
    with pytest.raises(FileNotFoundError, match=r"valid\.txt: no such list, and so there is no test split"):
        load("carla", "test", tmp_path)
    (tmp_path / "carla/valid.txt").write_text("nobody.png")
    with pytest.raises(ValueError, match=r"valid\.txt: names nobody\.png, which is not in"):
        load("carla", "test", tmp_path)


def test_classes_take_the_models_order_by_name(tmp_path: Path) -> None:
    made.pairs(tmp_path / "gta5", [7, 26])
    images: LabelMapImages = load("gta5-7", "train", tmp_path)  # type: ignore[assignment]
    images.match((*reversed(SHARED_CLASSES), "sky"))
    assert (classes_of(images), images.classes) == ([0, 6], 8)
    images = load("gta5-7", "train", tmp_path)  # type: ignore[assignment]
    with pytest.raises(
        ValueError, match=r"gta5-7 train .*: its class 'sidewalk' is none of the model's 1: road; .*--classes FILE"
    ):
        images.match(("road",))


def test_tiles_count_every_pixel_once(tmp_path: Path) -> None:
    made.pairs(tmp_path, [0, 1, 2], images=2)
    images: LabelMapImages = load(f"pairs:{tmp_path / 'images'},{tmp_path / 'labels'}")  # type: ignore[assignment]
    for prepare in (Preprocess(), Preprocess(size=(18, 22))):
        tiles = TiledImages(images, [1, 0], (8, 10), prepare)
        counted = 0
        for batch in Stream(tiles, 1, Stored(), prepare):
            assert batch.inputs.shape[2:] == batch.labels.shape[1:] == (8, 10)
            counted += int((batch.labels != 255).sum())
        height, width = prepare.extent((12, 16))
        assert counted == 2 * height * width
        assert tiles.where(0) == "00001.png@0,0"
    assert TiledImages(images, [0], (50, 50), Preprocess()).fetch(np.arange(1))[0].shape == (12, 16, 3)
