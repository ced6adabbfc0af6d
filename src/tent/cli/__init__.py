"""The `tent` command: parse and call; one file a command."""

import sys


def main() -> None:
    """Run the command line; every error a user can cause ends in one line and exit code 2."""
    try:
        from tent.cli.app import run
    except ModuleNotFoundError as missing:
        if missing.name not in {"typer", "rich", "PIL"}:
            raise
        sys.exit(f"tent: the command needs {missing.name}; install it with: pip install 'tent-tta[cli]'")
    run(sys.argv[1:])
