"""Snow, fog, frost and spatter: their layers, and where frost pictures come from."""

import sys

import numpy as np
import pytest
from corruption_images import natural
from PIL import Image

from tent.data.corruptions import corrupt
from tent.data.corruptions.draws import Draws
from tent.data.corruptions.frost import PANES, panes, read_photographs
from tent.data.corruptions.spatter import distance, edges
from tent.data.corruptions.weather import plasma


@pytest.mark.parametrize("size", [2, 32, 256])
def test_clouds_fill_their_range_and_opposite_images_have_opposite_clouds(size):
    clouds = plasma(Draws(0, "fog", 1, range(4)), size, 2)
    np.testing.assert_array_equal(clouds.min((1, 2)), 0)
    np.testing.assert_array_equal(clouds.max((1, 2)), 1)
    np.testing.assert_allclose(clouds[0], 1 - clouds[1], atol=1e-5)
    assert np.abs(clouds[0] - clouds[2]).max() > 0.1


def test_clouds_are_smoother_the_faster_they_decay():
    rough, smooth = (plasma(Draws(0, "fog", 1, range(8)), 64, decay) for decay in (1.5, 3))
    assert np.abs(np.diff(rough)).mean() > 1.5 * np.abs(np.diff(smooth)).mean()


def test_fog_grows_with_severity():
    x = natural(64, 32, 32)
    strengths = [((corrupt(x, "fog", severity).astype(float) - x) ** 2).mean() for severity in range(1, 6)]
    assert strengths == sorted(strengths)


def test_fog_keeps_the_brightest_value():
    x = natural(6, 32, 32)
    assert (corrupt(x, "fog", 5).max((1, 2, 3)) <= x.max((1, 2, 3))).all()


def test_snow_only_brightens():
    x = natural(6, 40, 24)
    for constants in ("cifar", "imagenet"):
        assert (corrupt(x, "snow", 5, constants=constants).astype(int) - x).min() >= -1


def test_a_square_has_its_border_as_edges():
    layer = np.zeros((1, 20, 20), np.uint8)
    layer[:, 5:15, 5:15] = 200
    found = edges(layer)[0]
    rows, columns = np.nonzero(found)
    assert {rows.min(), rows.max(), columns.min(), columns.max()} <= {4, 5, 14, 15}
    assert not found[7:13, 7:13].any()
    assert 28 <= found.sum() <= 44
    assert not edges(np.full((1, 9, 9), 200, np.uint8)).any()


def test_a_weak_edge_counts_only_where_it_meets_a_strong_one():
    layer = np.zeros((2, 12, 24), np.uint8)
    layer[:, :, 12:] = 30  # a step that is weak alone: 4 * 30 = 120
    assert not edges(layer).any()
    layer[0, :4, 12:] = 200
    found = edges(layer)
    assert found[0, 8:].any()
    assert not found[1].any()


def test_distances_are_those_of_straight_diagonal_and_knight_steps():
    found = np.zeros((2, 30, 31), bool)
    found[0, 10, 12] = True
    rows, columns = np.abs(np.arange(30) - 10)[:, None], np.abs(np.arange(31) - 12)
    far, near = np.maximum(rows, columns), np.minimum(rows, columns)
    flat = (far - 2 * near) + 2.1969 * near
    steep = 1.4 * (2 * near - far) + 2.1969 * (far - near)
    plain = np.minimum(np.where(far >= 2 * near, flat, steep), 20)
    measured = distance(found, 20)
    np.testing.assert_allclose(measured[0], plain, atol=1e-4)
    np.testing.assert_array_equal(measured[1], 20)


@pytest.mark.parametrize("severity", range(1, 6))
def test_spatter_is_water_or_mud(severity):
    grey = np.full((16, 32, 32, 3), 100, np.uint8)
    y = corrupt(grey, "spatter", severity).astype(int)
    touched = (y != 100).any(-1)
    assert 0.005 < touched.mean() < 0.6
    assert ((y >= 99) if severity <= 3 else (y <= 100)).all()


def test_made_frost_has_the_colours_shares_and_levels_of_its_panes():
    layer = panes(Draws(0, "frost", 3, range(200)), 32, 32, shrink=5)
    expected = sum(pane.share * np.array(pane.colour) for pane in PANES)
    assert sum(pane.share for pane in PANES) == pytest.approx(1)
    np.testing.assert_allclose(layer.mean((0, 1, 2)), expected, atol=2)
    assert 18 < layer[..., 1].std((1, 2)).mean() < 27
    assert 30 < layer[..., 1].mean((1, 2)).std() < 40


def test_made_frost_has_the_same_look_at_full_size():
    small = panes(Draws(0, "frost", 3, range(40)), 32, 32, shrink=5)[..., 1]
    large = panes(Draws(0, "frost", 3, range(40)), 160, 160, shrink=1)[..., 1][:, 2::5, 2::5]
    for statistic in (lambda x: x.std((1, 2)).mean(), lambda x: np.abs(np.diff(x)).mean(), lambda x: x.mean()):
        assert statistic(large) == pytest.approx(statistic(small), rel=0.1)


@pytest.fixture
def folder(tmp_path):
    ramp = np.arange(300, dtype=np.uint16)[:, None, None] * np.ones((300, 320, 3)) * 255 / 300
    Image.fromarray(ramp.astype(np.uint8)).save(tmp_path / "b.png")
    Image.fromarray(np.full((200, 210), 200, np.uint8)).save(tmp_path / "a.png")  # grey
    (tmp_path / "note.txt").write_text("not a picture")
    read_photographs.cache_clear()
    return tmp_path


def test_frost_from_a_folder_of_photographs(folder):
    black = np.zeros((40, 32, 32, 3), np.uint8)
    y = corrupt(black, "frost", 5, frost=folder)
    flat = (y == 90).all((1, 2, 3))  # 0.45 * 200
    assert 0.2 < flat.mean() < 0.8
    steps = np.diff(y[~flat].astype(int), axis=1).mean()
    assert steps == pytest.approx(0.45 * 5 * 255 / 300, rel=0.1)  # shrunk to a fifth
    np.testing.assert_array_equal(y[7:9], corrupt(black[7:9], "frost", 5, frost=str(folder), start=7))
    large = corrupt(np.zeros((2, 400, 350, 3), np.uint8), "frost", 5, frost=folder)  # larger than the pictures
    assert large.min((1, 2, 3)).max() <= 150


def test_frost_from_the_imagecorruptions_package(folder, tmp_path_factory, monkeypatch):
    site = tmp_path_factory.mktemp("site")
    pictures = site / "imagecorruptions" / "frost"
    pictures.mkdir(parents=True)
    (site / "imagecorruptions" / "__init__.py").write_text("raise RuntimeError('is not to be imported')")
    for name in ("frost1.png", "frost6.png"):
        level = 100 if name == "frost1.png" else 255
        Image.fromarray(np.full((400, 400, 3), level, np.uint8)).save(pictures / name)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(sys.modules, "imagecorruptions", raising=False)
    black = np.zeros((30, 32, 32, 3), np.uint8)
    np.testing.assert_array_equal(corrupt(black, "frost", 5), np.full_like(black, 45))  # the sixth is never drawn
    assert corrupt(black, "frost", 5, frost="made").std() > 5


def test_a_folder_without_pictures_is_one_line(tmp_path, images):
    with pytest.raises(FileNotFoundError, match="no folder of frost pictures"):
        corrupt(images, "frost", 1, frost=tmp_path / "absent")
    with pytest.raises(FileNotFoundError, match="holds no picture"):
        corrupt(images, "frost", 1, frost=tmp_path)
    (tmp_path / "broken.png").write_bytes(b"no picture")
    with pytest.raises(OSError, match=r"broken\.png is not a picture"):
        corrupt(images, "frost", 1, frost=tmp_path)
