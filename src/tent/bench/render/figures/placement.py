"""Names beside their points: each as near as it can be without touching a name, a point or another's line."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tent.bench.render.figures import style

HEIGHT, MARK, NEAR = 0.125, 0.075, 0.1  # inches: of a name, from a point's centre to its edge, to a name without a line
DISTANCES = tuple(NEAR + 0.08 * i for i in range(13))
STARTS = (0, 3, 6)  # distances to begin at in a crowd, where near names leave the next no way out
CLOSE = 0.3  # inches between two points of a crowd
ANGLES = (0, 180, 90, 270, *(30 * i for i in range(12)))  # degrees; beside a point before above it
Point = tuple[float, float]  # inches from an axis' lower left corner


@dataclass(frozen=True)
class Box:
    """A rectangle."""

    left: float
    low: float
    right: float
    high: float

    def overlaps(self, other: "Box") -> bool:
        """Tell whether two rectangles share more than an edge."""
        across = min(self.right, other.right) > max(self.left, other.left)
        return across and min(self.high, other.high) > max(self.low, other.low)

    def nearest(self, point: Point) -> Point:
        """Return the place of the rectangle that is nearest to a point."""
        return min(max(point[0], self.left), self.right), min(max(point[1], self.low), self.high)


@dataclass(frozen=True)
class Place:
    """A name's rectangle, and the line from its point to it."""

    box: Box
    line: tuple[Point, Point]


def place_names(
    points: Sequence[Point], widths: Sequence[float], room: Box, spreads: Sequence[float] = ()
) -> list[Place]:
    """Return a place for the name of each point, those in the thickest crowd first.

    Args:
        spreads: how far a point's error bar goes up and down.
    """
    reach = [max(MARK, spread) for spread in spreads or [0.0] * len(points)]
    marks = [Box(x - MARK, y - up, x + MARK, y + up) for (x, y), up in zip(points, reach, strict=True)]
    crowd = [sorted(math.dist(point, other) for other in points)[1:3] for point in points]
    order = sorted(range(len(points)), key=crowd.__getitem__)
    for start in STARTS:
        nearest = [start if near and near[0] < CLOSE else 0 for near in crowd]
        tried = [list(_candidates(*each, room)) for each in zip(points, widths, nearest, strict=True)]
        if places := _choose(tried, marks, order):
            return places
    return _line_up(points, widths, room, marks)


def _choose(tried: Sequence[Sequence[Place]], marks: Sequence[Box], order: Sequence[int]) -> list[Place]:
    """Return the first free place of each name, one name after another; none if a name finds none."""
    places: dict[int, Place] = {}
    for i in order:
        others = [mark for j, mark in enumerate(marks) if j != i]
        placed = list(places.values())
        place = next((each for each in tried[i] if _is_free(each, placed, others, marks[i])), None)
        if place is None:
            return []
        places[i] = place
    return [places[i] for i in range(len(tried))]


def _line_up(points: Sequence[Point], widths: Sequence[float], room: Box, marks: Sequence[Box]) -> list[Place]:
    """Return places one under another at both sides of the room: a way for any crowd, with longer lines."""
    step, widest = 1.15 * HEIGHT, max(widths)
    heights = [room.low + i * step for i in range(int((room.high - room.low) / step))]
    lefts = (room.right - widest, room.left)[: 2 if 2 * widest < room.right - room.left else 1]
    slots = [Box(left, low, left + widest, low + HEIGHT) for left in lefts for low in heights]
    free = [slot for slot in slots if not any(slot.overlaps(mark) for mark in marks)] or slots
    lines: list[tuple[Point, Point]] = []
    chosen: list[Box] = []
    for point in points:
        left_over = [slot for slot in free if slot not in chosen] or slots
        chosen.append(min(left_over, key=lambda slot: math.dist(point, slot.nearest(point))))
    swapped = True
    while swapped:  # two lines that cross are shorter the other way round, so this ends
        swapped = False
        ends = [(slot.right if slot.left == room.left else slot.left, slot.low + HEIGHT / 2) for slot in chosen]
        lines = list(zip(points, ends, strict=True))
        for i, j in itertools.combinations(range(len(points)), 2):
            if crosses(lines[i], lines[j]):
                chosen[i], chosen[j], swapped = chosen[j], chosen[i], True
                break
    return [Place(slot, line) for slot, line in zip(chosen, lines, strict=True)]


def write_names(axis: Any, points: Mapping[str, Point], spreads: Sequence[float]) -> None:
    """Write the name of every point beside it, with a thin line where it had to go further."""
    size = axis.get_position().size * axis.figure.get_size_inches()
    to_inches = axis.transData + axis.transAxes.inverted()
    places = [tuple(to_inches.transform(point) * size) for point in points.values()]
    texts = [style.shorten(name, 0.6 * size[0]) for name in points]
    widths = [len(text) * style.LETTER for text in texts]
    low, high = axis.get_ylim()
    up = [spread / (high - low) * size[1] for spread in spreads]
    for text, place in zip(texts, place_names(places, widths, Box(0.03, 0.03, *size), up), strict=True):
        (x, y), end = place.line
        if math.dist((x, y), end) > NEAR + 0.02:
            ends = [(x / size[0], end[0] / size[0]), (y / size[1], end[1] / size[1])]
            axis.plot(*ends, transform=axis.transAxes, color=style.INK, alpha=0.45, linewidth=0.6, zorder=1)
        side = "left" if place.box.left >= x else "right" if place.box.right <= x else "center"
        at = {"left": place.box.left, "right": place.box.right, "center": (place.box.left + place.box.right) / 2}[side]
        name = axis.text(at / size[0], (place.box.low + place.box.high) / 2 / size[1], text, ha=side)
        name.set(transform=axis.transAxes, va="center_baseline", fontsize=style.SMALL, color=style.INK)


def _candidates(point: Point, width: float, start: int, room: Box) -> Iterator[Place]:
    """Return places around a point, near ones first, that are inside the room."""
    for distance in DISTANCES[start:]:
        for angle in ANGLES:
            x = point[0] + distance * math.cos(math.radians(angle))
            y = point[1] + distance * math.sin(math.radians(angle))
            left = x - width / 2 * (1 - math.cos(math.radians(angle)))
            low = y - HEIGHT / 2 * (1 - math.sin(math.radians(angle)))
            box = Box(
                max(room.left, min(left, room.right - width)), max(room.low, min(low, room.high - HEIGHT)), 0.0, 0.0
            )
            box = Box(box.left, box.low, box.left + width, box.low + HEIGHT)
            yield Place(box, (point, box.nearest(point)))


def _is_free(place: Place, placed: Sequence[Place], others: Sequence[Box], own: Box) -> bool:
    """Tell whether a name touches nothing, and its line neither."""
    boxes = [*others, *(each.box for each in placed)]
    if place.box.overlaps(own) or any(place.box.overlaps(box) for box in boxes):
        return False
    if any(_meets(place.line, box) for box in (each.box for each in placed)):
        return False
    return not any(crosses(place.line, each.line) or _meets(each.line, place.box) for each in placed)


def crosses(one: tuple[Point, Point], two: tuple[Point, Point]) -> bool:
    """Tell whether two lines cross."""
    (a, b), (c, d) = one, two
    return _side(a, b, c) * _side(a, b, d) < 0 and _side(c, d, a) * _side(c, d, b) < 0


def _side(a: Point, b: Point, c: Point) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _meets(line: tuple[Point, Point], box: Box) -> bool:
    (x, y), (to_x, to_y) = line
    steps = [i / 12 for i in range(13)]
    return any(box.left <= x + t * (to_x - x) <= box.right and box.low <= y + t * (to_y - y) <= box.high for t in steps)
