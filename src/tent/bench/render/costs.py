"""What a suite's answers cost as a table: images forward and backward, and seconds, training included."""

from tent.bench.read.compute import Cost, Passes, cost
from tent.bench.read.grid import Grid, display_name
from tent.bench.render.table import Field, Line, Table

UNIT = 10_000  # answered images that everything is told for
TENT = Passes(1, 1)  # an image of Tent online, one step a batch
HEADS = (
    *("images forward", "images backward", "passes, × Tent's", "memory of a step, × Tent's"),
    *("training (s)", "answering (s)", "needs"),
)
MEASURE = (
    f"For {UNIT:,} answered images: images forward and backward through the whole network; passes are both together, "
    "as a multiple of Tent's online, which takes one of each an image.",
    "Memory is the most that torch has allocated at once in a step, without weights and batch.",
    "A row's own training is in it, shared among the images that its model answers; that of source models is not.",
)


def build_cost_table(grid: Grid) -> Table:
    """Lay out what each row takes; columns in which a row takes the same share a line, and blank ones are left out."""
    tent = cost(grid, "Tent", grid.columns)
    lines = [line for row in grid.rows for line in _lines(grid, row, tent.memory if tent else None)]
    used = [place for place in range(len(HEADS)) if any(line.fields[place].text for line in lines)]
    hardware = "; ".join(dict.fromkeys(result.hardware for result in grid.results if result.hardware))
    return Table(
        name=f"{grid.file_name}-compute",
        title=f"{grid.heading}: compute",
        corner=f"for {UNIT:,} images",
        heads=tuple(HEADS[place] for place in used),
        lines=tuple(Line(line.head, tuple(line.fields[place] for place in used)) for line in lines),
        caption=(
            *MEASURE,
            f"Seconds at test time, without reading data: {hardware}. Seconds of training: those on the models' cards.",
        ),
    )


def _lines(grid: Grid, row: str, base: int | None) -> list[Line]:
    """Return what a row takes; `base` is the memory of Tent's step."""
    groups: dict[Passes | None, list[str]] = {}
    for column in grid.columns:
        if (own := cost(grid, row, [column])) is not None:
            groups.setdefault(own.passes and round(own.passes * UNIT), []).append(column)
    if not groups:
        return [Line(display_name(row), tuple(Field("missing", "missing") for _ in HEADS))]
    heads = [row if len(groups) == 1 else f"{row}, {', '.join(columns)}" for columns in groups.values()]
    costs = [cost(grid, row, columns) for columns in groups.values()]
    return [Line(display_name(head), _fields(own, base)) for head, own in zip(heads, costs, strict=True) if own]


def _fields(own: Cost, base: int | None) -> tuple[Field, ...]:
    counts = ("", "", "")
    if own.passes is not None:
        spent = own.passes * UNIT
        counts = (f"{spent.forward:,.0f}", f"{spent.backward:,.0f}", f"{own.passes.total / TENT.total:,.1f}")
    seconds = (f"{UNIT * own.training:,.0f}" if own.training else "", f"{UNIT * own.answering:,.1f}")
    memory = f"{own.memory / base:.2f}" if own.memory and base else ""
    texts = (*counts, memory, *seconds, ", ".join(own.needs))
    return tuple(Field("ours", text) if text else Field("blank") for text in texts)
