"""A grid as a section of a page: table, figures, protocol, and what it was made with."""

import re
from collections.abc import Iterable, Sequence
from html import escape

from tent.bench.read.costs import costs
from tent.bench.read.grid import Grid
from tent.bench.read.training import altered
from tent.bench.render.figures.style import inline
from tent.bench.render.markup import list_html, table_html, words_html
from tent.bench.render.plot import Picture, pictures
from tent.bench.render.table import Table, table
from tent.bench.result import Result

WIDTHS = {"wide": 9.5, "narrow": 3.4}  # inches: a figure is drawn for a desk and for a phone, and the page shows one


def section(grid: Grid) -> str:
    """Return all there is to say of a grid."""
    made, name = table(grid), anchor(grid)
    parts = [
        f'<section id="{name}" aria-labelledby="{name}-title">\n<h2 id="{name}-title">{escape(grid.heading)}</h2>',
        f'<p class="faint">{escape(state(grid))}</p>',
        table_html(made),
        *(f'<p class="faint">{escape(remark)}</p>' for remark in made.remarks),
        *(_figure(grid, picture) for picture in pictures(grid)),
        *_costs(grid),
        *_terms(made),
        f"<h3>Made with</h3>\n{list_html(_made(grid.results))}\n</section>",
    ]
    return "\n".join(parts)


def anchor(grid: Grid) -> str:
    """Return the name of a grid's section in the page."""
    return re.sub(r"[^a-z0-9-]+", "-", grid.file.lower())


def state(grid: Grid) -> str:
    """Say how much of a grid is there, and of which seeds."""
    counts = {"results": "done", "failed": "failures", "missing": "missing"}
    numbers = {word: sum(len(getattr(each, name)) for each in grid.entries.values()) for word, name in counts.items()}
    said = [f"{number:,} {word}" for word, number in numbers.items() if number or word == "results"]
    return f"{', '.join(said)}, seed{'s' if len(grid.seeds) > 1 else ''} {', '.join(map(str, grid.seeds))}"


def span(times: Iterable[str]) -> str:
    """Return the first and the last of some times, or the one there is."""
    known = sorted(time for time in times if time)
    if not known:
        return "at a time that is not recorded"
    return known[0] if known[0] == known[-1] else f"{known[0]} to {known[-1]}"


def _costs(grid: Grid) -> list[str]:
    if not any(altered(result.training) for result in grid.results):
        return []  # what the rows of such a suite take is in its figure
    made = costs(grid)
    return ["<h3>Compute</h3>", table_html(made), *(f'<p class="faint">{escape(said)}</p>' for said in made.remarks)]


def _figure(grid: Grid, picture: Picture) -> str:
    label = f"{grid.heading}. {picture.caption} The numbers are in the table."
    forms = []
    for form, width in WIDTHS.items():
        drawn = inline(picture.draw(grid, width, ""), f"{anchor(grid)}-{picture.name}-{form}", label)
        forms.append(f'<div class="{form}">{drawn}</div>\n')
    return f"<figure>\n{''.join(forms)}<figcaption>{escape(picture.caption)}</figcaption>\n</figure>"


def _terms(made: Table) -> list[str]:
    terms, parts = made.terms, ["<h3>Protocol</h3>"]
    if terms.common:
        parts.append(f"<p>Of all results:</p>\n{list_html(terms.common.items())}")
    for words, what in ((terms.by_row, "row"), (terms.by_column, "column")):
        if words:
            parts.append(f"<p>By {what}:</p>\n{words_html(words, what, f'Protocol by {what}: {made.title}')}")
    if terms.varied:
        parts.append(f"<p>Differing from result to result:</p>\n{list_html(terms.varied.items())}")
    return parts if len(parts) > 1 else []


def _made(results: Sequence[Result]) -> list[tuple[str, str]]:
    names = dict.fromkeys(name for result in results for name in result.versions)
    weights = (f"{result.case.model} {result.case.weights[:16]}" for result in results if result.case.weights)
    seconds = sum(result.seconds for result in results)
    return [
        ("commit", _each(result.commit for result in results)),
        *((name, _each(result.versions.get(name, "") for result in results)) for name in names),
        ("hardware", _each(result.hardware for result in results)),
        ("weights", _each(weights)),
        ("finished", span(result.finished for result in results)),
        ("time", f"{seconds:,.0f} seconds of learning and answering, reading data not counted"),
    ]


def _each(values: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(value for value in values if value)) or "not recorded"
