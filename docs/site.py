"""What the site needs beyond the pages: README and its neighbours, and GitHub's Markdown as MkDocs reads it."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
FROM_ROOT = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
FENCE = re.compile(r"(^```.*?^```)", re.DOTALL | re.MULTILINE)
ITEM = re.compile(r"(?:[-*]|\d+\.) ")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that lie beside the docs folder."""
    for name, path in FROM_ROOT.items():
        files.append(File.generated(config, name, content=(ROOT / path).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, **rest: Any) -> str:
    """Return a page with links that lead to pages, and with lists and line breaks as Python-Markdown wants them."""
    parts = FENCE.split(markdown)  # code is every second one
    return "".join(part if i % 2 else to_mkdocs(part, page.file.src_uri) for i, part in enumerate(parts))


def to_mkdocs(text: str, page: str) -> str:
    """Return text between code, rewritten."""
    text = re.sub(r"(!?)\[((?:[^\]\\]|\\.)*)\]\(([^)\s]+)\)", lambda link: relink(*link.groups(), page), text)
    lines: list[str] = []
    for line in text.removesuffix("\n").split("\n") if text else []:
        before = lines[-1] if lines else ""
        if ITEM.match(line) and before.strip() and not ITEM.match(before) and not before.startswith(" "):
            lines.append("")
        lines.append(re.sub(r"\\$", "  ", line))
    return "\n".join(lines) + ("\n" if text.endswith("\n") else "")


def relink(image: str, words: str, target: str, page: str) -> str:
    """Return a link that leads to the site's own page; the words alone where the site has none."""
    name, hash_, anchor = target.partition("#")
    if "://" in target or not name:
        return f"{image}[{words}]({target})"
    path = ((ROOT if page in FROM_ROOT else ROOT / "docs") / name).resolve().relative_to(ROOT).as_posix()
    names = {value: key for key, value in FROM_ROOT.items()}
    if path not in names and not path.startswith("docs/"):
        return words
    return f"{image}[{words}]({names.get(path, path.removeprefix('docs/'))}{hash_}{anchor})"
