"""README and docs, and the Python code on them."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def blocks(page: str) -> list[str]:
    """Return a page's Python code, block by block."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def run_page(page: str, **names: object) -> dict[str, object]:
    """Run a page's Python code from top to bottom, and return what it defines."""
    found = blocks(page)
    assert found
    names["__name__"] = "page"
    for block in found:
        exec(compile(block, page, "exec"), names)
    return names
