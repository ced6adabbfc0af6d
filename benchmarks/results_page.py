"""Write the store's tables into docs/results.md, each in the place of the one with the same title.

Run: python benchmarks/results_page.py
"""

from pathlib import Path

from tent.bench.read.narrow import narrow_grid
from tent.bench.read.query import open_results, read_grid
from tent.bench.render.costs import build_cost_table
from tent.bench.render.markdown import to_markdown
from tent.bench.render.table import build_table
from tent.bench.suites import by_name
from tent.files import atomic_write

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "results.md"
PARTS = 3  # paragraphs of a table: its title, its rows, and how they were measured
SHOWN = {  # whether with compute
    "models": False,
    "cifar10-c": True,
    "cifar10-c-choice": False,
    "cifar100-c": False,
    "architectures": False,
    "imagenet-val5k-c": False,
    "imagenet-val5k-c-rates": False,
    "imagenet-val5k-c-tuned": False,
    "imagenet-val5k-c-by-type": False,
    "pacs": False,
    "digits": True,
    "claims": False,
    "ablation": False,
}
ROWS = {  # of suites that are far from done; elsewhere all rows stand there, *missing* too
    "cifar100-c": ("Source", "BN", "Tent", "Tent offline"),
    "claims": (
        "Source",
        "Tent",
        "without new statistics",
        "without γ and β (BN)",
        "last layer only",
        "last layer only, 3 epochs",
        "last layer only, 10 epochs",
        "all parameters",
        "all parameters, 3 epochs",
    ),
}


def list_tables() -> list[str]:
    """Return the tables that the page shows, as Markdown."""
    results, found = open_results(ROOT / "results")[0], list[str]()
    for suite, compute in SHOWN.items():
        grid = narrow_grid(read_grid(by_name(suite), results), ROWS.get(suite, ()), ())
        found += [to_markdown(table).strip() for table in [build_table(grid), *([build_cost_table(grid)] * compute)]]
    return found


def replace_table(text: str, table: str) -> str:
    """Put a table, its title and its notes, in the place of the one with the same title."""
    paragraphs, own = text.split("\n\n"), table.split("\n\n")
    if len(own) != PARTS:
        raise SystemExit(f"a table of {len(own)} paragraphs, not {PARTS}: what it would replace is not known")
    title = table.splitlines()[0]
    starts = [i for i, paragraph in enumerate(paragraphs) if paragraph.splitlines()[:1] == [title]]
    if len(starts) != 1:
        raise SystemExit(f"{PAGE}: has {len(starts)} places for the table {title!r}; write its title where it belongs")
    return "\n\n".join([*paragraphs[: starts[0]], *own, *paragraphs[starts[0] + len(own) :]])


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for table in list_tables():
        text = replace_table(text, table)
    with atomic_write(PAGE) as path:
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
