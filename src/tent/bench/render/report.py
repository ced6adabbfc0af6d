"""The report: one page of HTML, whole in itself, with every table and figure that a store has results for."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tent.bench.read.grid import Grid, display_name
from tent.bench.read.provenance import Facts
from tent.bench.read.training import is_baseline
from tent.bench.render.costs import build_cost_table
from tent.bench.render.figures.plot import Picture, list_pictures
from tent.bench.render.figures.style import to_svg
from tent.bench.render.layout import build_table
from tent.bench.render.table import Table

HERE = Path(__file__).parent
WIDTHS = {"wide": 9.5, "narrow": 3.4}  # inches: a figure is drawn for a desk and for a phone, and the page shows one
LONG, LONGEST = 28, 120  # letters: what a narrow column would break into many lines


@dataclass(frozen=True)
class Section:
    """All there is to say of a grid, as the template asks for it."""

    grid: Grid

    @property
    def anchor(self) -> str:
        """The name of the section in the page."""
        return re.sub(r"[^a-z0-9-]+", "-", self.grid.file_name.lower())

    @property
    def state(self) -> str:
        """How much of the grid is there, and of which seeds."""
        entries, seeds = self.grid.entries.values(), self.grid.seeds
        counts = {
            "results": sum(len(entry.successes) for entry in entries),
            "failed": sum(len(entry.failures) for entry in entries),
            "missing": sum(len(entry.missing_seeds) for entry in entries),
        }
        said = [f"{number:,} {word}" for word, number in counts.items() if number or word == "results"]
        return f"{', '.join(said)}, seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"

    @property
    def table(self) -> Table:
        """Its numbers."""
        return build_table(self.grid)

    @property
    def costs(self) -> Table | None:
        """What the answers cost; where no model was trained for a row, its figure has that."""
        trained = any(is_baseline(result.training) for result in self.grid.results)
        return build_cost_table(self.grid) if trained else None

    @property
    def pictures(self) -> list[Picture]:
        """Its figures."""
        return list_pictures(self.grid)

    def svgs(self, picture: Picture) -> dict[str, str]:
        """Return a figure at each width, as SVG to stand in the page."""
        label = f"{self.grid.heading}. {picture.caption} The numbers are in the table."
        return {
            name: to_svg(picture.draw(self.grid, width, ""), f"{self.anchor}-{picture.name}-{name}", label)
            for name, width in WIDTHS.items()
        }

    @property
    def provenance(self) -> dict[str, str]:
        """What the results were made with."""
        results = self.grid.results
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


def render_report(grids: Sequence[Grid], alerts: Sequence[str] = ()) -> str:
    """Return the page of some grids; alerts are told at its top."""
    style = (HERE / "page.css").read_text(encoding="utf-8")
    sections = [Section(grid) for grid in grids]
    return str(_template().render(summary=_summary(grids), alerts=alerts, sections=sections, style=style))


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
