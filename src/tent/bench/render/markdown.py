"""A table as Markdown."""

import re

from tent.bench.render.caption import caption, remarks
from tent.bench.render.table import Piece, Table


def markdown(table: Table) -> str:
    """Return a table as GitHub-flavoured Markdown, with its caption and notes below."""
    rows = [
        [table.corner, *(escaped(head) for head in table.heads)],
        ["---", *("---:" for _ in table.heads)],
        *([escaped(line.head), *(_field(piece) for piece in line.pieces)] for line in table.lines),
    ]
    lines = [f"### {escaped(table.title)}", "", *(f"| {' | '.join(row)} |" for row in rows), ""]
    lines += [escaped(caption(table)), "", *(f"- {escaped(remark)}" for remark in remarks(table)), ""]
    lines += [f"<sup>{number}</sup> {escaped(note)}\\" for number, note in enumerate(table.notes, 1)]
    return "\n".join(lines).rstrip("\\\n") + "\n"


def escaped(text: str) -> str:
    """Return text that Markdown shows as it is."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~#])", r"\\\1", text)


def _field(piece: Piece) -> str:
    text = piece.text + (f" ± {piece.spread}" if piece.spread else "")
    text = f"**{text}**" if piece.bold else f"*{text}*" if piece.kind in ("missing", "failed") else text
    marks = ",".join(str(note) for note in piece.notes)
    return f"{text} <sup>{marks}</sup>" if marks else text
