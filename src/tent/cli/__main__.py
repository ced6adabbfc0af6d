"""`python -m tent.cli`: the same command."""

from tent.cli import main

main()
