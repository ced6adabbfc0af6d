"""The page about corruptions: its code runs, and its picture is drawn by the command it names."""

import re
from pathlib import Path

import numpy as np
import pytest
from corruption_images import natural
from PIL import Image

from tent.data.corruptions import CORRUPTIONS
from tent.data.corruptions.contact_sheet import main

PAGE = Path(__file__).resolve().parents[3] / "docs" / "corruptions.md"


def test_the_code_on_the_page_runs():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)
    assert names["shifted"].shape == (4, 32, 32, 3)


def test_the_page_names_every_type_and_shows_its_picture():
    text = PAGE.read_text()
    assert set(CORRUPTIONS) <= set(re.findall(r"`(\w+)`", text))
    picture = PAGE.parent / "img" / "corruptions.png"
    assert picture.stat().st_size < 400_000
    with Image.open(picture) as page:
        assert page.size == (1464, 464)


def test_the_command_draws_every_type(tmp_path):
    np.save(tmp_path / "x.npy", natural(2, 32, 32))
    main([str(tmp_path / "x.npy"), str(tmp_path / "page.png"), "--rows", "1", "0"])
    with Image.open(tmp_path / "page.png") as page:
        assert page.size == (5 * 198 - 6, 4 * 116)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.png", "x.npy"]


def test_rows_that_are_not_there_are_refused(tmp_path, capsys):
    np.save(tmp_path / "x.npy", natural(2, 32, 32))
    with pytest.raises(SystemExit):
        main([str(tmp_path / "x.npy"), str(tmp_path / "page.png"), "--rows", "2"])
    assert "from 0 to 1" in capsys.readouterr().err
