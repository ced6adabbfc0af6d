"""The forms that a table is written in: Markdown, LaTeX, CSV and HTML."""
