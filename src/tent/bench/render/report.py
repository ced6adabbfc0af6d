"""The report: one page of HTML, whole in itself, with every table and figure that a store has results for."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from tent.bench.read.grid import Grid
from tent.bench.render.section import anchor, section, span, state

STYLE = Path(__file__).with_name("page.css")
# the page asks for nothing; this forbids it to, whatever a result's words may hold
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
TITLE = "Test-time adaptation: results"


def report(grids: Sequence[Grid], alerts: Sequence[str] = ()) -> str:
    """Return the page of some grids; alerts are told at its top."""
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            f'<link rel="icon" href="data:,">\n<title>{TITLE}</title>',
            f"<style>\n{STYLE.read_text(encoding='utf-8')}</style>\n</head>\n<body>\n<main>",
            f"<h1>{TITLE}</h1>\n<p>{escape(_about(grids))}</p>",
            *(f'<p class="alert" role="note">{escape(alert)}</p>' for alert in alerts),
            f'<nav aria-label="Contents">\n<h2>Contents</h2>\n<ul>{_links(grids)}</ul>\n</nav>',
            *(section(grid) for grid in grids),
            "</main>\n</body>\n</html>\n",
        ]
    )


def _about(grids: Sequence[Grid]) -> str:
    results = {result.case.key(): result for grid in grids for result in grid.results}
    when = span([result.finished[:10] for result in results.values()])
    tables = f"{len(grids)} table{'s' if len(grids) > 1 else ''}"
    return f"{len(results):,} results in {tables}, finished {when}. Made from results on disk; no model was run for it."


def _links(grids: Sequence[Grid]) -> str:
    return "".join(
        f'<li><a href="#{anchor(grid)}">{escape(grid.heading)}</a> <span>{escape(state(grid))}</span></li>'
        for grid in grids
    )
