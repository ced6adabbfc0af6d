"""The words around a table, in plain text: what its numbers are, on what terms, and what to know besides."""

from tent.bench.read.terms import sentence, spoken
from tent.bench.render.table import Table


def caption(table: Table) -> str:
    """Return what is true of the whole table: what its numbers are, and the protocol that all results share."""
    shared = sentence(table.terms.common)
    return f"{table.measure} Protocol of all results: {shared}." if shared else table.measure


def remarks(table: Table) -> list[str]:
    """Return what is true of a row or a column alone, and what is to be known of the paper's figures."""
    terms = table.terms
    lines = [f"{name}: {line}." for words in (terms.by_row, terms.by_column) for name, line in spoken(words)]
    if terms.varied:
        lines.append(f"Differing from result to result: {sentence(terms.varied)}.")
    return [*lines, *table.remarks]
