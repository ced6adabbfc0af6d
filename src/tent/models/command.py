"""The command that trains a model, told from the name that `tent train` gives it."""

import re

from tent.data.sets import SETS

METHODS = ("rg", "uda-ss", "ttt")
SIDES = {"mnist": 28, "mnist-m": 32, "svhn": 32, "usps": 16}  # of digits, which do not fit each other as stored
OPEN = "tent train --method METHOD --out FOLDER"  # where a name does not tell


def command(name: str) -> str:
    """Return how to train what is called `METHOD-SOURCE-TARGET`, as in `rg-svhn-mnist`, or `ttt-SOURCE`."""
    method = next((each for each in METHODS if name.startswith(f"{each}-")), "")
    source, rest = _set(name.removeprefix(f"{method}-"))
    target, more = _set(rest)
    if method == "ttt" and source and re.fullmatch(r"|r26-gn", rest):
        return f"tent train --model {rest or 'r26'} --method ttt --source {source}"
    if method in ("rg", "uda-ss") and source and target and re.fullmatch(r"|test|[a-z_]+-[1-5]", more):
        words = ":".join([target, *more.split("-")] if more else [target])
        here, there = SIDES.get(source), SIDES.get(target)
        size = f" --size {here}" if here and there and here != there else ""
        return f"tent train --model r26 --method {method} --source {source} --target {words}{size}"
    return OPEN


def _set(text: str) -> tuple[str, str]:
    """Return the set that a text begins with, the longest that is known, and what follows it."""
    known = [each for each in SETS if text == each or text.startswith(f"{each}-")]
    found = max(known, key=len, default="")
    return found, text[len(found) :].removeprefix("-") if found else text
