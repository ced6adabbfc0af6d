"""From a grid to what is read: terminal, Markdown, LaTeX, CSV, HTML and figures."""
