"""Training a source model on a labelled set, plainly or by one of the baselines that alter training."""

from tent.train.job import train
from tent.train.objective import Batch, CrossEntropy, Objective
from tent.train.recipe import Recipe
from tent.train.rg import RG
from tent.train.ttt import TTT
from tent.train.uda_ss import UDASS

__all__ = ["RG", "TTT", "UDASS", "Batch", "CrossEntropy", "Objective", "Recipe", "train"]
