"""The picture of change of entropy against change of loss (Figure 6)."""

from typing import Any

import numpy as np

from tent.analysis.draw.panel_row import name_axes, name_counts, panel_row
from tent.analysis.numbers import Numbers, Value, number
from tent.plotting import INK, SMALL

TICKS = (-1, -0.5, 0, 0.5, 1)


def draw_change_of_loss(numbers: Numbers, title: str = "") -> Any:
    """Draw the density of images for each pair of methods, the diagonal, and the rank correlation."""
    from matplotlib.colors import LogNorm

    pairs = list(dict.fromkeys((row["before"], row["after"]) for row in numbers.rows))
    figure, axes = panel_row(len(pairs), 2.35, title, legend=0.55, width=1.0 + 2.75 * len(pairs))
    most = max(number(row, "images") for row in numbers.rows)
    for axis, (before, after) in zip(axes, pairs, strict=True):
        shown: Any = {"norm": LogNorm(1, most), "cmap": "magma_r", "aspect": "auto", "extent": (-1, 1, -1, 1)}
        image = axis.imshow(_count(numbers, before, after), origin="lower", **shown)
        axis.plot([-1, 1], [-1, 1], color=INK, linewidth=0.8, linestyle="--")
        axis.grid(False)
        axis.set(xticks=TICKS, yticks=TICKS)
        axis.axhline(0, color=INK, linewidth=0.5)
        axis.axvline(0, color=INK, linewidth=0.5)
        found = numbers.summary[f"{before} to {after}"]
        correlation = found["rank correlation"]
        name = "not defined" if correlation is None else f"{correlation:.2f}"
        name_axes(axis, "ΔH / log classes", "ΔL / log classes", f"{before} → {after}: rank corr. {name}")
        words = f"{found['lower entropy']:.0%} lower H\n{found['lower loss']:.0%} lower L"
        axis.text(0.97, 0.04, words, transform=axis.transAxes, fontsize=SMALL, ha="right", color=INK)
    place = axes[-1].get_position()
    bar = figure.colorbar(image, cax=figure.add_axes((place.x1 + 0.012, place.y0, 0.012, place.height)))
    name_counts(bar.ax.yaxis, most)
    bar.ax.tick_params(labelsize=SMALL, colors=INK)
    bar.ax.set_title("images", fontsize=SMALL, color=INK, loc="left")  # beside the bar it would leave the picture
    return figure


def _count(numbers: Numbers, before: Value, after: Value) -> Any:
    """Return the images of every cell, those without any masked."""
    bins = numbers.summary["bins"]
    counts = np.zeros((bins, bins))
    for row in numbers.rows:
        if (row["before"], row["after"]) == (before, after):
            i, j = (round((number(row, name) + 1) / 2 * bins) for name in ("entropy", "loss"))
            counts[j, i] = number(row, "images")
    return np.ma.masked_equal(counts, 0)
