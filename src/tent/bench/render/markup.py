"""Tables, terms and lists as HTML, everything escaped."""

from collections.abc import Iterable, Mapping
from html import escape

from tent.bench.read.terms import Words, shown
from tent.bench.render.caption import caption
from tent.bench.render.table import Line, Piece, Table

LONG, LONGEST = 28, 120  # letters: what a narrow column would break into many lines


def table_html(table: Table) -> str:
    """Return a table in a box of its own that scrolls if it must, and its notes."""
    heads = "".join(f'<th scope="col">{escape(head)}</th>' for head in (table.corner, *table.heads))
    lines = "\n".join(_line(line) for line in table.lines)
    notes = "".join(f"<li>{escape(note)}</li>" for note in table.notes)
    whole = f"<table><caption>{escape(caption(table))}</caption>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{lines}\n"
    below = f'\n<ol class="notes">{notes}</ol>' if notes else ""
    return boxed(f"{whole}</tbody></table>", f"Table: {table.title}") + below


def words_html(words: Mapping[str, Words], corner: str, label: str) -> str:
    """Return what differs by a name as a table: a line a name, a column a word."""
    heads = list(dict.fromkeys(word for own in words.values() for word in own))
    most = {head: max(len(own.get(head, "")) for own in words.values()) for head in heads}
    forms = {
        head: " class=longest" if count > LONGEST else " class=long" if count > LONG else ""
        for head, count in most.items()
    }
    lines = []
    for name, own in words.items():
        fields = (f"<td{forms[head]}>{escape(own.get(head, ''))}</td>" for head in heads)
        lines.append(f'<tr><th scope="row">{escape(shown(name))}</th>{"".join(fields)}</tr>')
    head = "".join(f'<th scope="col">{escape(word)}</th>' for word in (corner, *heads))
    whole = f'<table class="words"><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table>'
    return boxed(whole, label)


def list_html(items: Iterable[tuple[str, str]]) -> str:
    """Return names and what is said of them, as a list of definitions."""
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(said)}</dd>" for name, said in items) + "</dl>"


def boxed(html: str, label: str) -> str:
    """Return HTML in a box that scrolls sideways by itself, and can be reached by the keyboard."""
    return f'<div class="box" role="region" tabindex="0" aria-label="{escape(label)}">{html}</div>'


def _line(line: Line) -> str:
    pieces = "".join(_field(piece) for piece in line.pieces)
    return f'<tr{" class=ruled" if line.ruled else ""}><th scope="row">{escape(line.head)}</th>{pieces}</tr>'


def _field(piece: Piece) -> str:
    text = escape(piece.text)
    text = f"<strong>{text}</strong>" if piece.bold else text
    spread = f' <span class="spread">± {escape(piece.spread)}</span>' if piece.spread else ""
    marks = f"<sup>{','.join(str(note) for note in piece.notes)}</sup>" if piece.notes else ""
    return f'<td class="{piece.kind}">{text}{spread}{marks}</td>'
