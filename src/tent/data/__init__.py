"""Streams of test data: sets of images by name, what is done to them, and the order they come in."""

from tent.data.images import Images
from tent.data.load import load
from tent.data.preprocess import Preprocess
from tent.data.sets import known
from tent.data.stream import Stream

__all__ = ["Images", "Preprocess", "Stream", "known", "load"]
