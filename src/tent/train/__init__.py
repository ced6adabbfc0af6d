"""Training a source model on a labelled set."""

from tent.train.job import train
from tent.train.objective import Batch, CrossEntropy, Objective
from tent.train.recipe import Recipe

__all__ = ["Batch", "CrossEntropy", "Objective", "Recipe", "train"]
