"""The docs site: it builds without a warning, leaves no page out, and fetches nothing from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT

BESIDE = {"README.md": "index", "CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    return out


def test_every_page_is_on_it_and_in_its_menu(site: Path) -> None:
    names = {path.stem for path in (ROOT / "docs").glob("*.md")} | set(BESIDE.values())
    menu = (site / "index.html").read_text(encoding="utf-8")
    for name in names:
        assert (site / f"{name}.html").exists()
        assert f'href="{name}.html"' in menu, name


def test_it_needs_no_network(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img|iframe)[^>]* src="([^"]*)"|<link[^>]* href="([^"]*)"', text)
        assert loaded
        assert [url for pair in loaded for url in pair if "//" in url] == [], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?https?:|@import", sheet.read_text(encoding="utf-8")), sheet


def test_links_to_files_beside_the_docs_lead_to_their_pages(site: Path) -> None:
    text = (site / "methods.html").read_text(encoding="utf-8")
    assert 'href="contributing.html"' in text
    assert "../CONTRIBUTING.md" not in text
    home = (site / "index.html").read_text(encoding="utf-8")
    assert 'href="decide.html"' in home
    assert 'src="img/demo.png"' in home
    assert (site / "img" / "demo.png").read_bytes() == (ROOT / "docs" / "img" / "demo.png").read_bytes()


def test_a_list_that_follows_a_line_is_a_list(site: Path) -> None:
    text = (site / "speed.html").read_text(encoding="utf-8")
    assert re.search(r"<p>What limits it:</p>\s*<ul>", text)
    assert "\\\n" not in re.sub(r"<pre.*?</pre>", "", (site / "results.html").read_text(encoding="utf-8"), flags=re.S)


def test_the_reference_has_the_docstrings(site: Path) -> None:
    text = (site / "api.html").read_text(encoding="utf-8")
    for anchor in ("tent.adapt", "tent.Adapted.on_update", "tent.norm.Prior", "tent.Method.step", "tent.data.Stream"):
        assert f'id="{anchor}"' in text, anchor
    assert "go back to the source before every batch" in text
