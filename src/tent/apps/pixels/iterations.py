"""The picture of single images: the image, its label, and the answer of the source and after 1, 5 and 10 iterations."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from tent.adapted import Adapted, adapt
from tent.apps.adapt_run import answer
from tent.data.segments.label_maps import Map
from tent.data.segments.palette import overlay, paint
from tent.data.segments.tiles import TiledImages
from tent.data.sets.images import Pixels
from tent.data.stream import Batch
from tent.methods import with_pixels
from tent.plotting import pyplot, save
from tent.tasks.segmentation import resize_logits

if TYPE_CHECKING:
    from tent.apps.pixels.pixel_run import PixelRun

DRAWN_ITERATIONS = (1, 5, 10)


def draw_iterations(run: "PixelRun", path: Path, images: int) -> None:
    """Draw the first images of a run's stream, a row each; one that is answered by tiles is put together from them."""
    run.adapted.state.setup.execution.release()  # which answered all images: those that are drawn have their own
    rows: list[list[Pixels]] = []
    tiles = run.images if isinstance(run.images, TiledImages) else None
    for place, batch in _single_images(run):
        begins = tiles is None or tiles.is_first(place)
        if begins and len(rows) == images:
            break
        pictures = _draw_row(run, batch)
        if begins:
            rows.append(pictures if tiles is None else [tiles.blank_whole(picture, place) for picture in pictures])
        if tiles is not None:
            for whole, picture in zip(rows[-1], pictures, strict=True):
                tiles.paste(whole, picture, place)
    images_too, labels_too = ([] if run.job.maps_only else ["image"]), (["label"] if run.labelled else [])
    titles = [*images_too, *labels_too, "source", *_titles(run)]
    plt = pyplot()
    height = rows[0][0].shape[0] / rows[0][0].shape[1]
    figure, axes = plt.subplots(
        len(rows),
        len(titles),
        figsize=(3.2 * len(titles), 3.2 * height * len(rows) + 0.4),
        squeeze=False,
        layout="constrained",
    )
    for row, line in zip(rows, axes, strict=True):
        for picture, axis in zip(row, line, strict=True):
            axis.imshow(picture, interpolation="nearest")
            axis.set_axis_off()
    for title, axis in zip(titles, axes[0], strict=True):
        axis.set_title(title, fontsize=10)
    save(figure, path)


def iterate(adapted: Adapted, batch: Batch, most: int = DRAWN_ITERATIONS[-1]) -> dict[int, torch.Tensor]:
    """Return the logits of one image after each number of iterations, from the state that the model is in."""
    found = {}
    for number in range(1, most + 1):
        logits = answer(adapted, batch)
        if number in DRAWN_ITERATIONS:
            found[number] = logits
    return found


def _draw_row(run: "PixelRun", batch: Batch) -> list[Pixels]:
    image = run.pixels(batch.inputs[0])
    method = with_pixels(run.job.method, run.entry.preprocess.mean, run.entry.preprocess.std)
    adapted = adapt(
        run.entry.model,
        method,
        stats=run.adapted.stats,
        lr=run.job.lr,
        answers="after",
        precision=run.job.precision,  # type: ignore[arg-type]  # which was checked for the run itself
    )
    if run.job.delta:
        adapted.load_delta(run.job.delta)
    placed = batch.to(next(run.entry.model.parameters()).device)
    answers = [answer(run._source, placed)]
    run._source.state.setup.execution.release()
    answers += iterate(adapted, placed).values()
    row = [] if run.job.maps_only else [image]
    if batch.labels is not None:
        row.append(paint(batch.labels[0].to(torch.uint8).cpu().numpy(), run.colours))
    return row + [_draw_answer(run, image, _labels(each, image.shape)) for each in answers]


def _draw_answer(run: "PixelRun", image: Pixels, labels: Map) -> Pixels:
    return paint(labels, run.colours) if run.job.maps_only else overlay(image, labels, run.colours, 0.85)


def _labels(logits: torch.Tensor, shape: tuple[int, ...]) -> Map:
    return resize_logits(logits.float(), shape[:2])[0].argmax(0).to(torch.uint8).cpu().numpy()


def _single_images(run: "PixelRun") -> Iterator[tuple[int, Batch]]:
    """Go through the images of a run's stream, or their tiles, one at a time, with the place of each in its set."""
    places = iter(run.answered())
    for batch in run.stream:
        for i in range(len(batch.inputs)):
            labels = None if batch.labels is None else batch.labels[i : i + 1]
            yield next(places), Batch(batch.inputs[i : i + 1], labels, batch.domain)


def _titles(run: "PixelRun") -> list[str]:
    name = type(run.job.method).__name__
    return [f"{name}, iteration {number}" for number in DRAWN_ITERATIONS]
