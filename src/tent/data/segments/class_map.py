"""From the ids in label maps to classes: those of street scenes, the seven that they share, and a user's own."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tent.data.sets.class_names import read_class_names

IGNORE = 255  # the label of pixels that are not counted


@dataclass(frozen=True)
class ClassMap:
    """The names of classes, the class of each id, and ids that are known and not counted.

    Args:
        train_ids: how many ids maps have that were renumbered for training, from 0, where such maps are common. These
            ids mean other classes, so a map that holds them and 255 alone is refused: published ids have no 255.
    """

    names: tuple[str, ...]
    classes: Mapping[int, int]  # id -> place among the names
    ignored: frozenset[int] = frozenset({IGNORE})
    train_ids: int = 0

    def __post_init__(self) -> None:
        if strange := [id_ for id_ in (*self.classes, *self.ignored) if not 0 <= id_ <= 255]:
            raise ValueError(f"a class map has the id {strange[0]}; ids are from 0 to 255")

    @staticmethod
    def of(ids: Mapping[int, str], names: Sequence[str] | None = None, known: Iterable[int] = ()) -> "ClassMap":
        """Return the map of ids with names, which several may share; classes come in the order of the names.

        Args:
            names: the classes in their order; that in which ids name them unless given.
            known: ids that a set has and that are not counted, besides 255.
        """
        order = tuple(dict.fromkeys(ids.values())) if names is None else tuple(names)
        return ClassMap(order, {id_: order.index(name) for id_, name in ids.items()}, frozenset((*known, IGNORE)))

    @property
    def table(self) -> NDArray[np.uint8]:
        """The class of each id from 0 to 255."""
        table = np.full(256, IGNORE, dtype=np.uint8)
        for id_, place in self.classes.items():
            table[id_] = place
        return table

    def apply(self, ids: NDArray[np.uint8], where: object) -> NDArray[np.uint8]:
        """Return classes for ids; an id that the set does not have is an error of the file that it is in."""
        there = np.flatnonzero(np.bincount(ids.ravel(), minlength=256))
        if strange := [id_ for id_ in there.tolist() if id_ not in self.classes and id_ not in self.ignored]:
            raise ValueError(
                f"{where}: holds the id {strange[0]}, which is no class and not {IGNORE}; wrong label maps?"
            )
        if len(there) > 1 and there[-1] == IGNORE and there[-2] < self.train_ids:
            raise ValueError(
                f"{where}: holds trainIds (ids below {self.train_ids}, and {IGNORE}), which mean other classes than the"
                " published labelIds; take the map as published, or name your folders: pairs:IMAGES,LABELS,CLASSES.json"
            )
        return self.table[ids]

    def match(self, names: Sequence[str], where: object) -> "ClassMap":
        """Return the map with classes in a model's own order, by their names."""
        if strange := [name for name in self.names if name not in names]:
            raise ValueError(
                f"{where}: its class {strange[0]!r} is none of the model's {len(names)}: {', '.join(names)}; give"
                " --classes FILE (what the model's outputs are called, one name a line), or --unlabelled"
            )
        return replace(
            self, names=tuple(names), classes={id_: names.index(self.names[c]) for id_, c in self.classes.items()}
        )


def read_class_map(path: Path) -> ClassMap:
    """Read a class map: JSON from ids to names, null for what is not counted; or a name a line, the first of id 0.

    Classes come in the order of their lowest ids.
    """
    if path.suffix != ".json":
        names = read_class_names(path)
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"{path}: the name {twice[0]!r} is there twice; for ids that share a class write JSON")
        if len(names) > IGNORE:
            raise ValueError(f"{path}: {len(names)} names; label maps have ids below {IGNORE}, which is not counted")
        return ClassMap.of(dict(enumerate(names)), names)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such class map")
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        ids = dict(sorted((int(id_), str(name)) for id_, name in read.items() if name is not None))
        return ClassMap.of(ids, known=[int(id_) for id_, name in read.items() if name is None])
    except (ValueError, AttributeError, TypeError) as error:
        raise ValueError(f'{path}: not a class map ({error}); write {{"7": "road", "8": "sidewalk"}}') from None


CITYSCAPES_NAMES = (
    *("road", "sidewalk", "building", "wall", "fence", "pole", "traffic light", "traffic sign", "vegetation"),
    *("terrain", "sky", "person", "rider", "car", "truck", "bus", "train", "motorcycle", "bicycle"),
)
CITYSCAPES_IDS = (7, 8, 11, 12, 13, 17, *range(19, 29), 31, 32, 33)  # of the labelIds files, in the order of the names
_CITYSCAPES = ClassMap.of(
    dict(zip(CITYSCAPES_IDS, CITYSCAPES_NAMES, strict=True)), CITYSCAPES_NAMES, set(range(35)) - set(CITYSCAPES_IDS)
)
CITYSCAPES = replace(_CITYSCAPES, train_ids=len(CITYSCAPES_NAMES))
CARLA_NAMES = {
    **{1: "building", 2: "fence", 3: "other", 5: "pole", 6: "road line", 7: "road", 8: "sidewalk"},
    **{9: "vegetation", 10: "car", 11: "wall", 12: "sign"},
}
CARLA = ClassMap.of(CARLA_NAMES, known=(0, 4))  # 0: not labelled, and the sky
CAMVID_NAMES = dict(
    enumerate(
        ("sky", "building", "pole", "road", "pavement", "tree", "sign", "fence", "car", "pedestrian", "cyclist"),
    )
)
CAMVID = ClassMap.of(CAMVID_NAMES, known=(11,))

SHARED_CLASSES = ("road", "sidewalk", "building", "pole", "sign", "vegetation", "car")  # that these sets share
_SHARED = {
    **{name: name for name in SHARED_CLASSES},
    **{"road line": "road", "wall": "building", "fence": "building", "traffic sign": "sign"},
    **{"pavement": "sidewalk", "tree": "vegetation"},
}


def to_shared_classes(own: ClassMap) -> ClassMap:
    """Return a set's ids as the seven classes that all of them have; the others are not counted."""
    ids = {id_: _SHARED[own.names[place]] for id_, place in own.classes.items() if own.names[place] in _SHARED}
    shared = ClassMap.of(ids, SHARED_CLASSES, (own.ignored | set(own.classes)) - set(ids))
    return replace(shared, train_ids=own.train_ids)
