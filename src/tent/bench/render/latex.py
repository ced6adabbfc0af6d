"""A table as LaTeX, for a paper that loads booktabs."""

from tent.bench.render.table import Field, Line, Table

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


def to_latex(table: Table, full: bool = False) -> str:
    """Return a table as a LaTeX float, with its caption above, its notes below, and its full protocol if asked."""
    lines = [
        "% needs \\usepackage{booktabs}",
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{escape(' '.join([f'{table.title}.', *table.caption]))}}}",
        f"\\label{{tab:{''.join(c if c.isalnum() else '-' for c in table.name)}}}",
        f"\\begin{{tabular}}{{l{'r' * len(table.heads)}}}",
        "\\toprule",
        _row([escape(head) for head in (table.corner, *table.heads)]),
        "\\midrule",
        *(row for line in table.lines for row in _rows(line)),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    below = [f"\\textsuperscript{{{number}}} {escape(note)}" for number, note in enumerate(table.notes, 1)]
    below += [escape(remark) for remark in (*table.remarks, *(table.details if full else ()))]
    if below:
        lines += ["\\par\\smallskip\\footnotesize\\raggedright", "\n\n".join(below)]
    return "\n".join([*lines, "\\end{table}"]) + "\n"


def escape(text: str) -> str:
    """Return text that LaTeX sets as it is."""
    return "".join(SPECIAL.get(character, character) for character in text)


def _rows(line: Line) -> list[str]:
    row = _row([escape(line.head), *(_field(field) for field in line.fields)])
    return ["\\midrule", row] if line.ruled else [row]


def _row(texts: list[str]) -> str:
    return " & ".join(texts) + " \\\\"


def _field(field: Field) -> str:
    style = "textbf" if field.bold else "emph" if field.kind in ("missing", "failed") else ""
    text = f"\\{style}{{{field.text}}}" if style else field.text
    text += f" $\\pm$ {field.spread}" if field.spread else ""
    return f"{text}\\textsuperscript{{{field.marks}}}" if field.marks else text
