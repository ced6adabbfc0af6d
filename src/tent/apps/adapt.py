"""A practitioner's job: a model, data and choices in, a folder of results out."""

import errno
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from tent import norm
from tent.adapted import Adapted, adapt
from tent.apps.adapt_run import Notices, Run, probe
from tent.apps.export_file import export_format
from tent.apps.out_folder import OutFolder
from tent.apps.pixels.pixel_run import PixelRun, check_run, estimate_output_bytes
from tent.apps.record import check_format
from tent.apps.run_data import DataChoice, load_source_images
from tent.apps.run_settings import describe_settings
from tent.data import Stream
from tent.data.order import Shuffled, Stored
from tent.data.segments.label_maps import LabelMapImages
from tent.data.segments.tiles import TiledImages
from tent.data.sets.folders import FolderImages
from tent.data.sets.images import Images
from tent.engine.mode import SingleValueError
from tent.environment import choose_device
from tent.evaluate import Track, model_device
from tent.files import check_folder, check_space
from tent.method import Answers, Method
from tent.methods import with_pixels
from tent.models import zoo
from tent.models.entry import Entry
from tent.models.libraries import load_preprocess
from tent.models.own_preprocess import ASSUMED, PreprocessChoice
from tent.norm import Stats
from tent.plotting import pyplot
from tent.select import nothing

SOURCE_BATCH = 64  # at least, of source images: a few at a time would say little of a batch norm's statistics
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


@dataclass(frozen=True)
class Job:
    """What is adapted to what, and how; checked before anything is loaded."""

    model: str
    data: DataChoice
    method: Method
    out: Path
    stats: Stats | None = None  # None: the method's own, or what suits small batches
    epochs: int = 0  # 0: online
    episodic: bool = False
    steps: int = 1
    lr: float | None = None
    batch: int | None = None  # None: 128, or 1 where every image is for itself or is answered by pixels
    weights: Path | None = None
    delta: Path | None = None
    bake: Path | None = None
    table: str = "csv"
    preprocess: PreprocessChoice = PreprocessChoice()  # noqa: RUF009 (frozen)
    like: str | None = None  # a library's model whose preprocessing is taken
    device: str | None = None  # None: the best there is
    precision: str = "float32"
    overwrite: bool = False
    source_data: str | None = None
    source_images: int = 2000
    every: float = 30.0  # seconds between checkpoints
    tile: tuple[int, int] | None = None  # of a segmentation run: height and width of what is answered at a time
    panels: int = 4  # images of a segmentation run that are drawn along ten iterations
    maps_only: bool = False  # whether these are drawn as label maps alone, without the images

    def __post_init__(self) -> None:
        if self.epochs and self.episodic:
            raise ValueError("epochs and episodic exclude each other: learn from all images first, or from each alone")
        if self.episodic and self.delta:
            raise ValueError(f"--episodic goes back to the source before every batch, so {self.delta} would go unused")
        check_format(self.table)
        check_folder(self.out)
        choose_device(self.device)
        if self.out.resolve() == Path(self.data.name).expanduser().resolve():
            raise ValueError(f"{self.out}: is the folder of the images; choose another --out")
        if self.bake:
            export_format(self.bake)
        if self.bake and type(self.method).answer is not Method.answer:
            raise ValueError(f"{self.method!r} answers by itself, which no baked model can")
        needs = "source data" in self.method.needs
        if needs and not (self.source_data or self.delta):
            raise ValueError(f"{self.method!r} needs source data: pass --source-data FOLDER_OR_SET of training images")
        if self.source_data and not needs:
            raise ValueError(f"{self.method!r} uses no source data; leave out --source-data {self.source_data}")

    @property
    def batch_size(self) -> int:
        """Images a batch."""
        return self.batch or (1 if self.episodic else 128)

    def run(self, track: Track, say: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
        """Adapt, write everything, the summary last, and return it: a folder with a summary is whole.

        Args:
            say: is told, one line each, what a user should know of the run.
        """
        folder = OutFolder(self.out, self.every)
        try:
            with folder.hold():
                return self._run_in(folder, track, Notices(say))
        except SingleValueError as error:
            larger = "a larger --tile" if self.tile else "a larger --batch or --size"
            raise ValueError(f"{error.problem}; give {larger}, or --stats prior:16") from error
        except OSError as error:
            if error.errno not in NO_SPACE:
                raise
            remedy = "make room there, and run the same command again: it continues"
            raise OSError(f"{self.out}: {error.strerror}; {remedy}") from error

    def _run_in(self, folder: OutFolder, track: Track, notices: Notices) -> dict[str, Any]:
        entry = load_model(self.model, self.weights, self.preprocess, self.like, self.device, notices)
        images = self.data.open()
        classes, pixels = probe(entry, images, self.model, self.tile)
        if pixels:
            check_run(self, images, classes)
        if pixels and self.batch is None:
            return replace(self, batch=1)._run_on(entry, images, classes, pixels, folder, track, notices)
        return self._run_on(entry, images, classes, pixels, folder, track, notices)

    def _run_on(
        self,
        entry: Entry,
        images: Images,
        classes: int,
        pixels: bool,
        folder: OutFolder,
        track: Track,
        notices: Notices,
    ) -> dict[str, Any]:
        entry = self.data.name_classes(entry, images, classes)
        self.data.match_labels(images, entry, classes)
        stream = self.data.stream(images, entry, self.batch_size)
        if pixels and isinstance(images, LabelMapImages):
            images.check_map_headers(stream.indices)
        picture_bytes = estimate_output_bytes(images, stream.indices) if pixels else 0
        if self.tile:
            images, stream = self._cut(images, stream, entry, pixels)
        adapted = self._adapt(entry, stream, notices, pixels)
        check_space(
            self.out, picture_bytes + stream.total * 200 + 8 * sum(p.nbytes for p in adapted.parameters()) + (1 << 20)
        )
        settings = describe_settings(self, entry, stream, adapted)
        summary, left = folder.begin(settings, self.overwrite)
        if summary is not None:
            notices.say(f"{self.out}: this run has ended before, and this is its summary; --overwrite runs it again")
            return summary
        given = (self, entry, images, stream, adapted, settings, notices)
        run = PixelRun(*given, classes=classes) if pixels else Run(*given)
        if left is None and self.source_data:
            self._prepare(adapted, entry, track, pixels)
        run.answer(folder, track, left)
        return run.write(folder)

    def _cut(self, images: Images, stream: Stream, entry: Entry, pixels: bool) -> tuple[Images, Stream]:
        """Return the tiles of the images, in the order that the images come in."""
        if not pixels or not isinstance(images, FolderImages) or self.tile is None:
            raise ValueError(f"--tile {self.tile}: tiles are for files of images and a model that answers for pixels")
        tiles = TiledImages(images, stream.indices.tolist(), self.tile, entry.preprocess)
        return tiles, Stream(tiles, self.batch_size, Stored(), entry.preprocess)

    def _adapt(self, entry: Entry, stream: Stream, notices: Notices, pixels: bool) -> Adapted:
        """Return the model under adaptation, from the delta if one is given."""
        # an episode is for its own images: its last update would go unused; None leaves it to the method
        answers: Answers | None = "after" if self.episodic else None
        adapted = adapt(
            entry.model,
            with_pixels(self.method, entry.preprocess.mean, entry.preprocess.std),
            # one image is many samples where every pixel is told
            stats=self.stats if pixels else self._choose_stats(entry, min(self.batch_size, stream.total), notices),
            lr=self.lr,
            steps=self.steps,
            episodic=self.episodic,
            answers=answers,
            precision=self.precision,  # type: ignore[arg-type]  # which says what there is
        )
        if self.delta:
            adapted.load_delta(self.delta)
        return adapted

    def _choose_stats(self, entry: Entry, size: int, notices: Notices) -> Stats | None:
        """Return what suits the number of images a batch, where the user leaves it to the method."""
        wanted = self.method.stats if self.stats is None else self.stats
        suited = norm.for_batch_size(size)
        if wanted != norm.Batch() or suited == wanted or not _has_batch_norm(entry.model):
            return self.stats
        few = f"batches of {size} are small for a batch norm's statistics"
        if self.stats is None:
            if self.batch_size < norm.FEW_SAMPLES and not self.episodic and self.method.select is not nothing:
                raise ValueError(
                    f"{few}, and updates on so few drift: pass a larger --batch, --method bn or --episodic"
                )
            notices.add(f"{few}: {suited!r} is used instead of {wanted!r}; --stats chooses")
            return suited
        notices.add(f"{few}, which --stats batch asks for; leave it out for {suited!r}")
        return self.stats

    def _prepare(self, adapted: Adapted, entry: Entry, track: Track, pixels: bool) -> None:
        """Show the method images of the source."""
        images, device = load_source_images(str(self.source_data)), model_device(entry.model)
        size = self.batch_size if pixels else max(self.batch_size, SOURCE_BATCH)  # one image is many samples there
        stream = Stream(images, size, Shuffled(self.data.seed), entry.preprocess)
        stream = stream.first(min(self.source_images, stream.total))
        with closing(stream.prefetch()) as batches:
            adapted.prepare(batch.to(device) for batch in track(batches, "preparing", len(stream)))


def load_model(
    name: str,
    weights: Path | None,
    preprocess: PreprocessChoice,
    like: str | None,
    device: str | None,
    notices: Notices,
) -> Entry:
    """Return a model on its device, with the preprocessing that is chosen for it; say what had to be assumed."""
    entry = zoo.load(name, weights)
    own, origin = entry.preprocess, entry.preprocess_origin
    if like:
        own, origin = load_preprocess(like), f"like {like}"
    own, origin = preprocess.apply(own, origin)
    if origin == ASSUMED:
        options = "--size, --crop, --mean and --std, or --like timm:NAME"
        notices.add(f"preprocessing is not known and assumed: {own.words}; give {options}")
    try:
        pyplot()
    except ModuleNotFoundError as missing:
        notices.add(f"no picture is drawn: {missing}")
    entry.model.to(choose_device(device))
    return replace(entry, preprocess=own, preprocess_origin=origin)


def _has_batch_norm(model: nn.Module) -> bool:
    return any(isinstance(layer, nn.modules.batchnorm._BatchNorm) for layer in model.modules())
