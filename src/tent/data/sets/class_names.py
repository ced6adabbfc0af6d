"""What classes are called: by a model, by a file, and by the folders that images lie in."""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

SYNSET = re.compile(r"n\d{8}")  # a class of ImageNet, as WordNet numbers it


def read_class_names(path: Path) -> list[str]:
    """Return the names in a file, in the order of the model's outputs: one a line, or JSON (a list, or an id2label)."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file of class names")
    text = path.read_text(encoding="utf-8-sig")
    try:
        names = _from_json(json.loads(text)) if path.suffix == ".json" else text.splitlines()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: neither a list of names nor an id2label from 0 on ({error})") from None
    names = [name.strip() for name in names if name.strip()]
    if not names:
        raise ValueError(f"{path}: no name in it; write one name a line, in the order of the model's outputs")
    return names


def read_class_index(path: Path) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return names and synsets of ImageNet's classes from a JSON file {"0": [synset, name], ...}, if it is there."""
    if not path.is_file():
        return None
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        pairs = [
            (str(synset), str(name).replace("_", " ")) for synset, name in (read[str(i)] for i in range(len(read)))
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f'{path}: not an index of classes {{"0": [synset, name], ...}} ({error!r})') from None
    names = [name for _, name in pairs]  # ImageNet has two cranes
    unique = tuple(name if names.count(name) == 1 else f"{name} ({synset})" for synset, name in pairs)
    return unique, tuple(synset for synset, _ in pairs)


def match_classes(
    found: Sequence[str], classes: int, names: Sequence[str] | None, ids: Sequence[str] | None = None
) -> list[int]:
    """Return the model's class for each name that is found: by name, by id, or by index; raise if one has none.

    Args:
        classes: how many there are.
        names: of the model's classes, where it knows them; synonyms stand between commas.
        ids: of the model's classes, such as ImageNet's synsets.
    """
    for known in filter(None, (ids, names)):
        table = _lookup(known)
        if all(_plain(name) in table for name in found):
            return [table[_plain(name)] for name in found]
    if all(name.isdecimal() for name in found) and max(map(int, found)) < classes:
        return [int(name) for name in found]
    if len(found) == classes and all(SYNSET.fullmatch(name) for name in found):
        return [sorted(found).index(name) for name in found]  # ImageNet's own order
    raise ValueError(_explain(found, classes, names))


def same_names(one: Sequence[str] | None, other: Sequence[str] | None) -> bool:
    """Tell whether two lists of classes are the same, but for case and punctuation."""
    return one is not None and other is not None and [*map(_plain, one)] == [*map(_plain, other)]


def _lookup(names: Sequence[str]) -> dict[str, int]:
    """Return the class of every name and synonym that is one class's alone."""
    whole: dict[str, list[int]] = {}
    part: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        whole.setdefault(_plain(name), []).append(place)
        for synonym in dict.fromkeys(map(_plain, name.split(","))):
            part.setdefault(synonym, []).append(place)
    return {name: places[0] for name, places in {**part, **whole}.items() if len(places) == 1}


def _plain(name: str) -> str:
    return re.sub(r"[\s_\-]+", " ", name).strip().casefold()


def _explain(found: Sequence[str], classes: int, names: Sequence[str] | None) -> str:
    offer = "--classes FILE (one name a line, in the order of the model's outputs)"
    if names is None:
        problem = f"the model does not say what its {classes} classes are called, so {_few(found)} cannot be told"
        rank = ", --classes sorted if it was trained on folders of these names," if len(found) == classes else ""
        return f"{problem}; give {offer}{rank} or --unlabelled"
    table = _lookup(names)
    strange = [name for name in found if _plain(name) not in table]
    return f"not among the model's {classes} classes ({_few(names)}): {_few(strange)}; give {offer} or --unlabelled"


def _few(names: Iterable[str], most: int = 5) -> str:
    listed = list(names)
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")


def _from_json(read: object) -> list[str]:
    if isinstance(read, dict):
        read = read.get("id2label", read)
    if isinstance(read, dict):
        read = [read[str(place)] for place in range(len(read))]
    if not isinstance(read, list) or not all(isinstance(name, str) for name in read):
        raise ValueError("it holds something else")
    return read
