"""`python -m tent`: the `tent` command."""

from tent.cli import main

main()
