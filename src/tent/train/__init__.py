"""Training a source model on a labelled set, plainly or by one of the baselines that alter training."""

from tent.train.job import train
from tent.train.objectives import RG, TTT, UDASS, Batch, CrossEntropy, Objective
from tent.train.recipe import Recipe

__all__ = ["RG", "TTT", "UDASS", "Batch", "CrossEntropy", "Objective", "Recipe", "train"]
