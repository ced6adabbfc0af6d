import warnings

import made
import numpy as np
import pytest
from PIL import Image

from tent.data import Preprocess, Stream, load
from tent.data.order import Stored
from tent.data.sets.folders import open_folder, read_image


def flat(images, n):
    return [images.where(place) for place in range(n)]


@pytest.fixture
def classes(tmp_path):
    for place, name in enumerate(["cat/a.png", "cat/deep/b.png", "ant/c.png", "dog/d.PNG"]):
        made.image_file(tmp_path / name, made.pixels(6 + place, 8, 3, seed=place))
    (tmp_path / "dog" / "notes.txt").write_text("no image")
    (tmp_path / ".hidden").mkdir()
    return tmp_path


def test_folders_are_classes_in_the_order_of_their_names(classes):
    images = load(f"folder:{classes}")
    assert images.class_names == ("ant", "cat", "dog")
    assert flat(images, 4) == ["ant/c.png", "cat/a.png", "cat/deep/b.png", "dog/d.PNG"]
    assert images.labels.tolist() == [0, 1, 1, 2]
    assert images.classes == 3
    assert images.name == f"folder {classes.name}"


def test_images_are_decoded_to_their_pixels(classes):
    first, second = load(f"folder:{classes}").fetch(np.array([1, 2]))
    assert np.array_equal(first, made.pixels(6, 8, 3, seed=0))
    assert np.array_equal(second, made.pixels(7, 8, 3, seed=1))


def test_a_stream_of_images_of_all_sizes(classes):
    stream = Stream(load(f"folder:{classes}"), 3, Stored(), Preprocess(8, 6))
    assert [tuple(x.shape) for x, _, _ in stream] == [(3, 3, 6, 6), (1, 3, 6, 6)]
    with pytest.raises(ValueError, match="give the preprocessing a size"):
        list(Stream(load(f"folder:{classes}"), 3, Stored()))


def test_numbered_folders_count_as_numbers(tmp_path):
    for name in ("10", "2", "1"):
        made.image_file(tmp_path / name / "a.png", made.pixels(4, 4, 3))
    assert load(f"folder:{tmp_path}").class_names == ("1", "2", "10")


def test_the_networks_classes_may_be_given(classes):
    images = load(f"folder:{classes}", class_names=["dog", "eel", "cat", "ant"])
    assert images.labels.tolist() == [0, 2, 2, 3]
    assert images.classes == 4
    with pytest.raises(ValueError, match="'cat' is not one of the 2 classes"):
        load(f"folder:{classes}", class_names=["ant", "dog"])


def test_images_right_in_the_folder_have_no_labels(tmp_path):
    for name in ("b.png", "a.jpg"):
        made.image_file(tmp_path / name, made.pixels(4, 4, 3))
    images = load(f"folder:{tmp_path}")
    assert flat(images, 2) == ["a.jpg", "b.png"]
    assert images.labels is None
    assert [y for _, y, _ in Stream(images, 2)] == [None]


def test_labels_can_be_left_out(classes):
    images = load(f"folder:{classes}", labelled=False)
    assert images.labels is None
    assert len(images) == 4


def test_images_in_both_places_are_refused(classes):
    made.image_file(classes / "loose.png", made.pixels(4, 4, 3))
    with pytest.raises(ValueError, match="labelled=False"):
        load(f"folder:{classes}")
    assert len(load(f"folder:{classes}", labelled=False)) == 5


def test_a_grey_and_a_palette_image_come_in_colour(tmp_path):
    Image.new("L", (4, 4), 200).save(tmp_path / "grey.png")
    Image.new("P", (4, 4)).save(tmp_path / "palette.png")
    for pixels in load(f"folder:{tmp_path}").fetch(np.array([0, 1])):
        assert pixels.shape == (4, 4, 3)
    assert read_image(tmp_path / "grey.png")[0, 0].tolist() == [200] * 3


def test_an_empty_and_a_missing_folder_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no image"):
        load(f"folder:{tmp_path}")
    with pytest.raises(FileNotFoundError, match="no such folder"):
        load(f"folder:{tmp_path / 'none'}")


def test_a_truncated_image_is_named(classes):
    path = classes / "ant" / "c.png"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ValueError, match=r"c\.png: not a whole image"):
        list(Stream(load(f"folder:{classes}"), 4, preprocess=Preprocess((4, 4))))


def test_what_is_no_image_is_named(classes):
    (classes / "ant" / "c.png").write_text("hello")
    with pytest.raises(ValueError, match=r"c\.png: not a whole image"):
        load(f"folder:{classes}").fetch(np.array([0]))


def test_an_image_that_is_gone_is_named(classes):
    images = load(f"folder:{classes}")
    (classes / "ant" / "c.png").unlink()
    with pytest.raises(FileNotFoundError, match=r"c\.png: no such image"):
        images.fetch(np.array([0]))


def test_the_hash_tells_names_and_lengths(classes):
    before = load(f"folder:{classes}").sha256
    assert load(f"folder:{classes}").sha256 == before
    made.image_file(classes / "eel" / "e.png", made.pixels(4, 4, 3))
    assert load(f"folder:{classes}").sha256 != before


def test_broken_images_are_left_out_of_batches_where_asked(classes):
    (classes / "ant" / "c.png").write_text("hello")
    (classes / "cat" / "a.png").unlink()
    images = load(f"folder:{classes}")
    (classes / "dog" / "d.PNG").write_bytes(b"")
    images.skips = True
    stream = Stream(images, 1, Stored(), Preprocess((4, 4)))
    assert [(len(x), y.tolist()) for x, y, _ in stream] == [(1, [1])]
    assert {images.where(place) for place in images.unreadable} == {"ant/c.png", "dog/d.PNG"}
    assert [y.tolist() for _, y, _ in Stream(images, 3, Stored(), Preprocess((4, 4)))] == [[1]]
    assert stream.readable == [1]
    assert list(stream.after(1)) == []


def test_reading_in_threads_leaves_the_warnings_of_the_process_on(tmp_path):
    for i in range(16):
        made.image_file(tmp_path / f"{i}.png", made.pixels(64, 64, 3, seed=i))
    images = open_folder(tmp_path)
    for _ in range(20):
        images.fetch(np.arange(16))
    with pytest.raises(RuntimeWarning, match="of one's own"):  # which all are in tests
        warnings.warn("of one's own", RuntimeWarning, stacklevel=1)


def test_remarks_of_pillow_are_let_pass(tmp_path):
    palette = Image.fromarray(made.pixels(8, 8, 3)).convert("P")
    palette.save(tmp_path / "0.png", transparency=bytes(range(256)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="Transparency"), Image.open(tmp_path / "0.png") as image:
            image.convert("RGB")
        assert open_folder(tmp_path).fetch(np.array([0]))[0].shape == (8, 8, 3)


def test_a_truncated_photograph_is_named(tmp_path):
    path = made.image_file(tmp_path / "a.jpg", made.pixels(64, 64, 3))
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ValueError, match=r"a\.jpg: not a whole image \(.*truncated.*\); replace or remove it"):
        load(f"folder:{tmp_path}").fetch(np.array([0]))


@pytest.mark.parametrize(
    ("name", "mode", "value", "seen"),
    [
        ("cmyk.jpg", "CMYK", (0, 0, 0, 55), [200, 200, 200]),
        ("grey.jpg", "L", 90, [90, 90, 90]),
        ("bits.png", "1", 1, [255, 255, 255]),
        ("alpha.png", "RGBA", (10, 20, 30, 0), [10, 20, 30]),
        ("grey_alpha.png", "LA", (70, 128), [70, 70, 70]),
        ("deep.png", "I;16", 0x8001, [128, 128, 128]),
        ("deep.tif", "I;16", 0x8001, [128, 128, 128]),
        ("deep.pgm", "I;16", 0x8001, [128, 128, 128]),
    ],
)
def test_every_kind_of_file_comes_in_colours_of_8_bits(tmp_path, name, mode, value, seen):
    Image.new(mode, (8, 6), value).save(tmp_path / name)
    pixels = read_image(tmp_path / name)
    assert (pixels.shape, pixels.dtype) == ((6, 8, 3), np.uint8)
    assert np.abs(pixels.astype(int) - seen).max() <= (2 if name.endswith("jpg") else 0)


def test_a_palette_with_a_transparent_colour_keeps_its_colours(tmp_path):
    image = Image.new("P", (4, 4), 1)
    image.putpalette([0, 0, 0, 10, 20, 30])
    image.save(tmp_path / "a.png", transparency=b"\x00\x80")
    assert read_image(tmp_path / "a.png")[0, 0].tolist() == [10, 20, 30]


def test_grey_of_32_bits_is_one_line(tmp_path):
    Image.new("F", (4, 4), 0.5).save(tmp_path / "a.tif")
    with pytest.raises(ValueError, match=r"a\.tif: .*grey of 32 bits \(mode F\).*save it with 8 or 16 bits"):
        read_image(tmp_path / "a.tif")


def test_pixels_are_those_that_are_stored_whatever_exif_says_of_turning_them(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # a viewer turns it by a quarter
    Image.fromarray(made.pixels(6, 9, 3)).save(tmp_path / "a.png", exif=exif)
    assert np.array_equal(read_image(tmp_path / "a.png"), made.pixels(6, 9, 3))
