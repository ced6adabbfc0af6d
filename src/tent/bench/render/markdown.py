"""A table as Markdown."""

import re

from tent.bench.render.table import Field, Table


def to_markdown(table: Table, full: bool = False) -> str:
    """Return a table as GitHub-flavoured Markdown, with its caption and notes below, and its full protocol if asked."""
    rows = [
        [table.corner, *(escape(head) for head in table.heads)],
        ["---", *("---:" for _ in table.heads)],
        *([escape(line.head), *(_field(field) for field in line.fields)] for line in table.lines),
    ]
    lines = [f"### {escape(table.title)}", "", *(f"| {' | '.join(row)} |" for row in rows), ""]
    notes = [f"<sup>{number}</sup> {escape(note)}" for number, note in enumerate(table.notes, 1)]
    lines.append("\\\n".join([*(escape(line) for line in (*table.caption, *table.remarks)), *notes]))
    if full:
        lines += ["", *(f"- {escape(detail)}" for detail in table.details)]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Return text that Markdown shows as it is."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~#])", r"\\\1", text)


def _field(field: Field) -> str:
    text = field.text + (f" ± {field.spread}" if field.spread else "")
    text = f"**{text}**" if field.bold else f"*{text}*" if field.kind in ("missing", "failed") else text
    return f"{text} <sup>{field.marks}</sup>" if field.marks else text
