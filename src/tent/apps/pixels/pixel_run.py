"""One run of a segmentation job: label maps and overlays as they are answered, and the picture of single images."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from tent.apps.adapt_run import Run, answer
from tent.apps.out_folder import ITERATIONS_FILE, LABEL_MAPS, OVERLAYS, OutFolder
from tent.apps.pixels.iterations import draw_iterations
from tent.apps.pixels.pixel_record import TILE, PixelRecord, map_name
from tent.data.preprocess import pillow_image, to_colour
from tent.data.segments.class_map import IGNORE
from tent.data.segments.label_maps import LabelMapImages, Map
from tent.data.segments.palette import overlay, palette
from tent.data.segments.tiles import TiledImages, find_extent
from tent.data.sets.folders import FolderImages
from tent.data.sets.images import Images, Pixels
from tent.data.stream import Batch
from tent.engine.mode import SingleValueError
from tent.engine.structures import call_inputs, find_logits
from tent.evaluate import Track
from tent.files import atomic_write
from tent.plotting import has_matplotlib
from tent.tasks.segmentation import resize_logits, resize_rows

if TYPE_CHECKING:
    from tent.apps.adapt import Job

MOST_VALUES = 2**25  # of logits at an image's own size at once: 128 MB


def check_run(job: "Job", images: Images, classes: int) -> None:
    """Refuse what would end, or spoil, a run when its label maps and its table are written."""
    if job.table != "csv":
        raise ValueError(f"--table {job.table}: the table of a segmentation run is written as csv")
    if classes > IGNORE:
        raise ValueError(f"the model answers with {classes} classes; a label map holds {IGNORE} at most")
    if not isinstance(images, FolderImages):
        return
    maps: dict[str, str] = {}
    for file in images.files:
        if (other := maps.setdefault(map_name(file), file)) != file:
            raise ValueError(f"{other} and {file} would have one label map, {map_name(file)}; rename one of them")
    written = [(job.out / name).resolve() for name in (LABEL_MAPS, OVERLAYS)]
    for file in (*images.files, *(images.maps if isinstance(images, LabelMapImages) else ())):
        if any(folder in (path := (images.folder / file).resolve()).parents for folder in written):
            raise ValueError(f"{path}: lies where a run in {job.out} writes its own; choose another --out")


def estimate_output_bytes(images: Images, places: NDArray[np.int64]) -> int:
    """Return about how many bytes the label maps and overlays of these images take, if all are as the first."""
    if not isinstance(images, FolderImages):
        return 0
    extents = (find_extent(images, place) for place in places.tolist())
    height, width = next((extent for extent in extents if extent), (0, 0))
    return height * width * len(places)  # a byte a pixel: a map of a few classes is small, an overlay is not


def _label_map(logits: torch.Tensor) -> Map:
    return logits[0].argmax(0).to(torch.uint8).cpu().numpy()


class PixelRun(Run):
    """A run whose answers are label maps."""

    def __init__(self, *given: Any, classes: int) -> None:
        super().__init__(*given)
        known = [names for names in (self.entry.class_names, self.images.class_names) if len(names or ()) == classes]
        names = known[0] if known and known[0] else map(str, range(classes))
        iou_classes = self.images.mapped_classes if isinstance(self.images, LabelMapImages) else None
        self.record: PixelRecord = PixelRecord(tuple(names), iou_classes)
        self.colours = palette(self.record.class_names)

    def answer(self, folder: OutFolder, track: Track, left: dict[str, Any] | None) -> None:
        """Run the stream; before the first label map is written, it is known whose it is."""
        if left is None:
            self._save(folder, 0)
        super().answer(folder, track, left)

    def note(self, batch: Batch, output: Any) -> None:
        """Note one batch, and write its label maps."""
        after, before = find_logits(output, call_inputs(batch.inputs)), answer(self._source, batch)
        done = self.record.samples
        for i, place in enumerate(self.answered()[done : done + len(after)]):
            own, new = (each[i : i + 1].float() for each in (before, after))
            if stored := self._open_resized(place):
                image, labels = stored
                found = self._count_resized(own, new, labels, image.shape[:2])
            else:
                image, labels = self.pixels(batch.inputs[i]), None if batch.labels is None else batch.labels[i : i + 1]
                own, new = (resize_logits(each, image.shape[:2]) for each in (own, new))
                found = self._count(own, new, labels, place)
            self.record.samples += 1
            self.write_map(found, overlay(image, found, self.colours), place)

    def _count(self, before: torch.Tensor, after: torch.Tensor, labels: torch.Tensor | None, place: int) -> Map:
        """Add one image to the record, or of a tile what no tile of its image had before; return the label map."""
        if isinstance(self.images, TiledImages):
            part = (..., *self.images.own_part(place))
            own = None if labels is None else labels[part]
            self.record.add(before[part], after[part], own, more=not self.images.is_first(place))
        else:
            self.record.add(before, after, labels)
        return _label_map(after)

    def _open_resized(self, place: int) -> tuple[Pixels, torch.Tensor | None] | None:
        """Return an image and its labels as they are stored, where all of it is seen in another size; else None."""
        images = self.images
        if not isinstance(images, FolderImages) or isinstance(images, TiledImages):
            return None
        if not self.entry.preprocess.sees_all or self.entry.preprocess.keeps(find_extent(images, place)):
            return None
        image = to_colour(images.fetch(np.array([place]))[0])
        if not isinstance(images, LabelMapImages) or not images.labelled:
            return image, None
        return image, torch.from_numpy(images.read_map(place)).long()[None]

    def _count_resized(
        self, before: torch.Tensor, after: torch.Tensor, labels: torch.Tensor | None, size: tuple[int, ...]
    ) -> Map:
        """Add one image to the record at a size, a few rows at a time, and return its label map at that size."""
        step = max(1, MOST_VALUES // (after.shape[1] * size[1]))
        found = []
        for start in range(0, size[0], step):
            rows = range(start, min(start + step, size[0]))
            own, new = (resize_rows(each, size, rows) for each in (before, after))
            known = None if labels is None else labels[:, rows.start : rows.stop]
            self.record.add(own, new, known, more=start > 0)
            found.append(_label_map(new))
        return np.concatenate(found)

    def write_map(self, labels: Map, laid: Pixels, place: int) -> None:
        """Write a label map with its palette, and the map laid over its image; a tile into those of its image."""
        path = self.job.out / map_name(self.images.where(place))
        over = self.job.out / OVERLAYS / path.relative_to(self.job.out / LABEL_MAPS)
        for each in (path, over):
            each.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(self.images, TiledImages):
            labels, laid = (self._paste(*each, place) for each in ((path, labels), (over, laid)))
        image = pillow_image().fromarray(labels)
        image.putpalette(self.colours.ravel().tolist())
        with atomic_write(path) as partial:
            image.save(partial, format="PNG")
        with atomic_write(over) as partial:
            pillow_image().fromarray(laid).save(partial, format="PNG")

    def _paste(self, path: Path, part: Pixels, place: int) -> Pixels:
        """Return the picture of a whole image with one more tile's own pixels in it; the first begins it anew."""
        tiles: TiledImages = self.images  # type: ignore[assignment]
        if tiles.is_first(place):
            whole = tiles.blank_whole(part, place)
        else:
            with pillow_image().open(path) as there:
                whole = np.array(there)
        tiles.paste(whole, part, place)
        return whole

    def pixels(self, inputs: torch.Tensor) -> Pixels:
        """Return an input (3, h, w) as the picture that it was made from."""
        mean, std = self.entry.preprocess.mean or (0.0,) * 3, self.entry.preprocess.std or (1.0,) * 3
        x = inputs.cpu() * torch.tensor(std).view(3, 1, 1) + torch.tensor(mean).view(3, 1, 1)
        return (x.clamp(0, 1) * 255).round().to(torch.uint8).permute(1, 2, 0).numpy()

    def write(self, folder: OutFolder) -> dict[str, Any]:
        """Draw the first images along ten iterations, then write the rest, the summary last."""
        wanted = min(self.job.panels, self.stream.total)
        if wanted and has_matplotlib() and "source data" not in self.adapted.method.needs:
            try:
                draw_iterations(self, folder.path / ITERATIONS_FILE, wanted)
            except SingleValueError as error:  # some models have a norm that one image is too little for
                self.notices.add(f"no picture of single images is drawn: {error.problem}; --stats prior:16 would do")
            except ValueError as error:
                self.notices.add(f"no picture of single images is drawn: {error}")
        return super().write(folder)

    def _restore_record(self, left: dict[str, NDArray[Any]]) -> None:
        if left:
            self.record = PixelRecord.restore(left, self.record.iou_classes)

    def files(self) -> list[str]:
        """Return where each image that was answered lies, also if its tiles were."""
        return list(dict.fromkeys(TILE.sub("", file) for file in super().files()))

    @property
    def unreadable(self) -> dict[str, str]:
        """The images that were left out, and why."""
        return {TILE.sub("", file): why for file, why in super().unreadable.items()}

    @property
    def labelled(self) -> bool:
        """Whether the images come with label maps."""
        return isinstance(self.images, LabelMapImages) and self.images.labelled
