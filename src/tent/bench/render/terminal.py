"""A table in a terminal, in parts one under another where it is too wide."""

import rich.table
from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from tent.bench.render.table import Field, Table

Column = tuple[Text, ...]  # a head, and a field a line
STYLES = {"paper": "italic", "missing": "red", "failed": "red"}


def to_terminal(table: Table, width: int, full: bool = False) -> Group:
    """Return a table as rich shows it at a width, with its caption and notes below, and its full protocol if asked."""
    heads = Text(table.corner), *(Text(line.head) for line in table.lines)
    columns = [
        (Text(head), *(_text(line.fields[i]) for line in table.lines)) for i, head in enumerate(table.heads)
    ]  # the first of each is its head
    parts = [_part(table, heads, own) for own in _split(columns, width - max(map(len, heads)) - 4)]
    notes = [f"{number}: {note}" for number, note in enumerate(table.notes, 1)]
    more = table.details if full else ["The full protocol: --full."] if table.details else []
    below = (Padding(Text(line), (0, 1)) for line in (*table.caption, *table.remarks, *notes, *more))
    return Group(Text(table.title, "bold"), *parts, *below)


def _split(columns: list[Column], width: int) -> list[list[Column]]:
    """Share columns out in as many parts as are needed for each to fit a width; a column is never split."""
    parts: list[list[Column]] = [[]]
    free = width
    for column in columns:
        needed = max(len(text) for text in column) + 3  # its rule and its margins
        if needed > free and parts[-1]:
            parts.append([])
            free = width
        parts[-1].append(column)
        free -= needed
    return parts


def _part(table: Table, heads: Column, columns: list[Column]) -> rich.table.Table:
    part = rich.table.Table()
    for column in (heads, *columns):
        part.add_column(column[0], justify="left" if column is heads else "right")
    for i, line in enumerate(table.lines, 1):
        if line.ruled:
            part.add_section()
        part.add_row(*(column[i] for column in (heads, *columns)))
    return part


def _text(field: Field) -> Text:
    text = Text(field.text, "bold" if field.bold else STYLES.get(field.kind, ""))
    if field.spread:
        text.append(f"±{field.spread}", "dim")  # without spaces, where a narrow terminal would break it
    return text.append(f" [{field.marks}]", "dim") if field.marks else text
