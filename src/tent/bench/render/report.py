"""The report: one page of HTML, whole in itself, with every table and figure that a store has results for."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tent.bench.read.grid import Grid, display_name
from tent.bench.read.provenance import Facts
from tent.bench.read.training import is_baseline
from tent.bench.render.costs import build_cost_table
from tent.bench.render.figures.plot import Picture, list_pictures
from tent.bench.render.figures.style import to_svg
from tent.bench.render.table import build_table
from tent.bench.result import Result

HERE = Path(__file__).parent
WIDTHS = {"wide": 9.5, "narrow": 3.4}  # inches: a figure is drawn for a desk and for a phone, and the page shows one
LONG, LONGEST = 28, 120  # letters: what a narrow column would break into many lines


def render_report(grids: Sequence[Grid], alerts: Sequence[str] = ()) -> str:
    """Return the page of some grids; alerts are told at its top."""
    style = (HERE / "page.css").read_text(encoding="utf-8")
    template, sections = _template(), [_section(grid) for grid in grids]
    return str(template.render(summary=_summary(grids), alerts=alerts, sections=sections, style=style))


def _section(grid: Grid) -> dict[str, Any]:
    """Return all there is to say of a grid, by the names that the template uses."""
    trained = any(is_baseline(result.training) for result in grid.results)
    anchor = re.sub(r"[^a-z0-9-]+", "-", grid.file_name.lower())
    return {
        "heading": grid.heading,
        "anchor": anchor,
        "state": _state(grid),
        "table": build_table(grid),
        "figures": [(picture.caption, _svgs(grid, picture, anchor)) for picture in list_pictures(grid)],
        "costs": build_cost_table(grid) if trained else None,  # elsewhere, a figure has them
        "provenance": _provenance(grid.results),
    }


def _state(grid: Grid) -> str:
    """Say how much of a grid is there, and of which seeds."""
    entries, seeds = grid.entries.values(), ", ".join(map(str, grid.seeds))
    numbers = {
        "results": sum(len(entry.successes) for entry in entries),
        "failed": sum(len(entry.failures) for entry in entries),
        "missing": sum(len(entry.missing_seeds) for entry in entries),
    }
    said = [f"{number:,} {word}" for word, number in numbers.items() if number or word == "results"]
    return f"{', '.join(said)}, seed{'s' if len(grid.seeds) > 1 else ''} {seeds}"


def _svgs(grid: Grid, picture: Picture, anchor: str) -> dict[str, str]:
    label = f"{grid.heading}. {picture.caption} The numbers are in the table."
    return {
        name: to_svg(picture.draw(grid, width, ""), f"{anchor}-{picture.name}-{name}", label)
        for name, width in WIDTHS.items()
    }


def _provenance(results: Sequence[Result]) -> dict[str, str]:
    names = dict.fromkeys(name for result in results for name in result.versions)
    weights = (f"{result.case.model} {result.case.weights[:16]}" for result in results if result.case.weights)
    seconds = sum(result.seconds for result in results)
    return {
        "commit": _join(result.commit for result in results),
        **{name: _join(result.versions.get(name, "") for result in results) for name in names},
        "hardware": _join(result.hardware for result in results),
        "weights": _join(weights),
        "finished": _period(result.finished for result in results),
        "time": f"{seconds:,.0f} seconds of updating and answering, reading data not counted",
    }


def _template() -> Any:
    try:
        import jinja2
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError("the report needs jinja2: pip install 'tent-tta[bench]'") from missing
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"display_name": display_name, "widths": _column_widths}
    return environment.get_template("report.html.j2")


def _summary(grids: Sequence[Grid]) -> str:
    results = {result.case.key(): result for grid in grids for result in grid.results}
    when = _period(result.finished[:10] for result in results.values())
    tables = f"{len(grids)} table{'s' if len(grids) > 1 else ''}"
    return f"{len(results):,} results in {tables}, finished {when}. Made from results on disk; no model was run for it."


def _column_widths(facts: Mapping[str, Facts]) -> dict[str, str]:
    """Return each fact and the class of its column: how long its longest text is."""
    longest: dict[str, int] = {}
    for own in facts.values():
        for fact, text in own.items():
            longest[fact] = max(longest.get(fact, 0), len(text))
    return {fact: "longest" if n > LONGEST else "long" if n > LONG else "short" for fact, n in longest.items()}


def _period(times: Iterable[str]) -> str:
    """Return the first and the last of some times, or the one there is."""
    known = sorted(time for time in times if time)
    if not known:
        return "at a time that is not recorded"
    return known[0] if known[0] == known[-1] else f"{known[0]} to {known[-1]}"


def _join(values: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(value for value in values if value)) or "not recorded"
