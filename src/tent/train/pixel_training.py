"""Training of segmentation: images and label maps scaled, cropped and flipped together."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from tent.data import Images, Stream
from tent.data.order import Stored
from tent.data.preprocess import pillow_image
from tent.data.segments.class_map import IGNORE
from tent.data.segments.label_maps import LabelMapImages, Map
from tent.data.sets.images import Pixels
from tent.evaluate import evaluate
from tent.tasks import Segmentation
from tent.train.batches import DRAWS, generator
from tent.train.domains import image_size
from tent.train.loop import Training
from tent.train.objectives import Batch

MEASURED = ("mean_iou", "mean_iou_absent_zero", "pixel_accuracy")


class PixelTraining(Training):
    """A segmentation model on its way: each image is resized by a random scale, and a random crop is learnt from."""

    def batch(self) -> Batch:
        """Return what the step under way sees; which images and which draws depends on the seed and the step alone."""
        data, indices = self.data, self.indices()
        if not isinstance(data, LabelMapImages):
            raise TypeError(f"{data.name} has no label maps")
        random = generator(self.recipe.seed, DRAWS, self.step)
        maps = [data.read_map(int(index)) for index in indices]
        pairs = [self.cut(*pair, random) for pair in zip(data.fetch(indices), maps, strict=True)]
        images, labels = (torch.from_numpy(np.stack(part)) for part in zip(*pairs, strict=True))
        if self.recipe.flip:
            mirror = torch.rand(len(images), generator=random) < 0.5
            images = torch.where(mirror[:, None, None, None], images.flip(2), images)
            labels = torch.where(mirror[:, None, None], labels.flip(2), labels)
        inputs = self.preprocess.scale(images.numpy()).to(self.device, memory_format=torch.channels_last)
        torch.manual_seed(int(torch.randint(2**62, (), generator=random)))  # dropout, where a model has it
        return Batch(inputs, labels.long().to(self.device), self.step / self.steps, random)

    def cut(self, image: Pixels, labels: Map, random: torch.Generator) -> tuple[Pixels, Map]:
        """Return a random crop of the image at a random scale, and the same of its labels."""
        (height, width), (least, greatest) = self.recipe.size, self.recipe.scales  # type: ignore[misc]
        draws = torch.rand(3, generator=random, dtype=torch.float64).tolist()
        scale = least * (greatest / least) ** draws[0]  # a doubling is as likely anywhere
        rows, columns = round(height / scale), round(width / scale)
        top, left = (_place(*each) for each in zip(draws[1:], labels.shape, (rows, columns), strict=True))
        box = slice(top, top + rows), slice(left, left + columns)
        image, labels = _pad(image[box], rows, columns, 0), _pad(labels[box][..., None], rows, columns, IGNORE)[..., 0]
        return _resize(image, height, width, "BILINEAR"), _resize(labels, height, width, "NEAREST")

    def measure(self, test: Images) -> dict[str, Any]:
        """Return the scores on a test split, at the middle of the scales that were learnt from."""
        least, greatest = self.recipe.scales  # type: ignore[misc]
        height, width = (round(side * (least * greatest) ** 0.5) for side in image_size(test))
        preprocess = replace(self.preprocess, size=(height, width))
        found = evaluate(
            self.model, Stream(test, 4, Stored(), preprocess), Segmentation(int(test.classes or 0))
        ).metrics
        return {"test_size": [height, width], **{f"test_{name}": found[name] for name in MEASURED}}


def _place(draw: float, whole: int, part: int) -> int:
    return int(draw * (max(whole - part, 0) + 1))


def _pad(pixels: Pixels, rows: int, columns: int, value: int) -> Pixels:
    missing = rows - pixels.shape[0], columns - pixels.shape[1]
    if missing == (0, 0):
        return pixels
    padded: Tensor = F.pad(torch.from_numpy(pixels.copy()), (0, 0, 0, missing[1], 0, missing[0]), value=value)
    return padded.numpy()


def _resize(pixels: Pixels, height: int, width: int, filter_: str) -> Pixels:
    image_module = pillow_image()
    resized = image_module.fromarray(pixels).resize((width, height), image_module.Resampling[filter_])
    return np.asarray(resized)
