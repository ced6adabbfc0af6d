"""Names in the margin: each at the height of its point where it can, moved apart where they would touch."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tent.bench.render.figures import style

LINE, MARK, GAP = 0.16, 0.14, 0.1  # inches between two names, from the axis to their marks, and from there to them


def name_points(axis: Any, points: Mapping[str, tuple[float, float]], room: float) -> None:
    """Write every row's mark and name to the right of the axis, and lead a thin line from it to its point.

    Args:
        room: inches there, as `margin_width` says.
    """
    wide, high = axis.get_position().size * axis.figure.get_size_inches()
    low, top = axis.get_ylim()
    rows, looks = sorted(points, key=lambda row: points[row][1]), style.find_looks(list(points))
    wanted = [(points[row][1] - low) / (top - low) * high for row in rows]
    line = {"arrowstyle": "-", "color": style.INK, "alpha": 0.35, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}
    for row, at in zip(rows, spread_out(wanted, LINE, high), strict=True):
        place = (1 + MARK / wide, at / high)
        axis.annotate(
            "", points[row], place, textcoords="axes fraction", va="center", annotation_clip=False, arrowprops=line
        )
        mark = {"color": looks[row].colour, "markeredgecolor": style.INK, "markersize": 5, "markeredgewidth": 0.7}
        axis.plot(*place, looks[row].mark, transform=axis.transAxes, clip_on=False, **mark)
        name = axis.text(place[0] + GAP / wide, place[1], style.shorten(row, room - MARK - GAP))
        name.set(transform=axis.transAxes, fontsize=style.SMALL, color=style.INK, va="center_baseline")


def margin_width(rows: Iterable[str], width: float) -> float:
    """Return the inches that the names of rows take beside a figure of a width: at most half of it."""
    longest = 1 + max(len(row) for row in rows)  # one more, for capitals
    return min(MARK + GAP + longest * style.LETTER, 0.5 * width)


def spread_out(places: Sequence[float], gap: float, height: float) -> list[float]:
    """Move rising places so far that each is a gap above the one before, near where they were and below the height."""
    groups: list[tuple[float, list[float]]] = []  # (sum of where its first would like to be, its places)
    for place in places:
        groups.append((place, [place]))
        while len(groups) > 1 and _first(groups[-2], gap, height) + gap * len(groups[-2][1]) > _first(
            groups[-1], gap, height
        ):
            (before, first), (after, second) = groups[-2:]
            shifted = after - gap * len(first) * len(second)
            groups[-2:] = [(before + shifted, first + second)]
    return [_first(group, gap, height) + gap * i for group in groups for i in range(len(group[1]))]


def _first(group: tuple[float, list[float]], gap: float, height: float) -> float:
    wish, members = group
    return max(0.0, min(wish / len(members), height - gap * (len(members) - 1)))
