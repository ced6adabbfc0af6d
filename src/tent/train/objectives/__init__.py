"""What training minimises: labels alone, or one of the papers' objectives that alter training."""

from tent.train.objectives.joint_training import TTT
from tent.train.objectives.objective import Batch, CrossEntropy, Objective, PixelCrossEntropy
from tent.train.objectives.rg import RG
from tent.train.objectives.uda_ss import UDASS

__all__ = ["RG", "TTT", "UDASS", "Batch", "CrossEntropy", "Objective", "PixelCrossEntropy"]
