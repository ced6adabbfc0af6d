"""A table as LaTeX, for a paper that loads booktabs."""

from tent.bench.render.caption import caption, remarks
from tent.bench.render.table import Line, Piece, Table

SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "−": "$-$",
    "×": r"$\times$",
    "→": r"$\to$",
    "γ": r"$\gamma$",
    "β": r"$\beta$",
    "·": r"$\cdot$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "—": "---",
    "–": "--",
    "…": r"\ldots{}",
}


def latex(table: Table) -> str:
    """Return a table as a LaTeX float, with its caption above and its notes below."""
    said = escaped(f"{table.title}. {caption(table)}")
    lines = [
        "% needs \\usepackage{booktabs}",
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{said}}}",
        f"\\label{{tab:{''.join(c if c.isalnum() else '-' for c in table.name)}}}",
        f"\\begin{{tabular}}{{l{'r' * len(table.heads)}}}",
        "\\toprule",
        _row([escaped(table.corner), *(escaped(head) for head in table.heads)]),
        "\\midrule",
        *(row for line in table.lines for row in _lines(line)),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    below = [f"\\textsuperscript{{{number}}} {escaped(note)}" for number, note in enumerate(table.notes, 1)]
    below += [escaped(remark) for remark in remarks(table)]
    if below:
        lines += ["\\par\\smallskip\\footnotesize\\raggedright", "\n\n".join(below)]
    return "\n".join([*lines, "\\end{table}"]) + "\n"


def escaped(text: str) -> str:
    """Return text that LaTeX sets as it is."""
    return "".join(SPECIAL.get(character, character) for character in text)


def _lines(line: Line) -> list[str]:
    row = _row([escaped(line.head), *(_field(piece) for piece in line.pieces)])
    return ["\\midrule", row] if line.ruled else [row]


def _row(fields: list[str]) -> str:
    return " & ".join(fields) + " \\\\"


def _field(piece: Piece) -> str:
    text = piece.text + (f" $\\pm$ {piece.spread}" if piece.spread else "")
    if piece.bold:
        text = f"\\textbf{{{piece.text}}}" + (f" $\\pm$ {piece.spread}" if piece.spread else "")
    elif piece.kind in ("missing", "failed"):
        text = f"\\emph{{{text}}}"
    marks = ",".join(str(note) for note in piece.notes)
    return f"{text}\\textsuperscript{{{marks}}}" if marks else text
