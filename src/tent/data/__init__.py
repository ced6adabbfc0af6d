"""Streams of test data: sets of images by name, what is done to them, and the order they come in."""

from tent.data.load import load
from tent.data.preprocess import Preprocess
from tent.data.sets.catalog import known_sets
from tent.data.sets.images import Images
from tent.data.stream import Stream

__all__ = ["Images", "Preprocess", "Stream", "known_sets", "load"]
