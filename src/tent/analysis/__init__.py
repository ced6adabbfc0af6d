"""The paper's figures that look inside, for any model and stream: numbers first, pictures of them apart."""

from tent.analysis.analyse_streams import analyse
from tent.analysis.collector import Collector
from tent.analysis.collectors.along_stream import AlongStream
from tent.analysis.collectors.by_domain import ErrorByType, LossByLevel
from tent.analysis.collectors.confusion import Confusion
from tent.analysis.collectors.entropy_bins import ErrorByEntropy
from tent.analysis.collectors.loss_change import ChangeOfLoss
from tent.analysis.collectors.movement import Movement
from tent.analysis.collectors.reliability import Calibration
from tent.analysis.draw import draw
from tent.analysis.features.capture import capture, choose_layers
from tent.analysis.features.feature_shift import compare_features
from tent.analysis.numbers import Numbers
from tent.analysis.observation import Domain, Observation, Predictions, predict
from tent.analysis.ranks import rank_correlation

KINDS = (ErrorByEntropy, LossByLevel, ErrorByType, ChangeOfLoss, Calibration, Confusion, Movement, AlongStream)
FIGURES: dict[str, type[Collector]] = {kind.name: kind for kind in KINDS}

__all__ = [
    "FIGURES",
    "AlongStream",
    "Calibration",
    "ChangeOfLoss",
    "Collector",
    "Confusion",
    "Domain",
    "ErrorByEntropy",
    "ErrorByType",
    "LossByLevel",
    "Movement",
    "Numbers",
    "Observation",
    "Predictions",
    "analyse",
    "capture",
    "choose_layers",
    "compare_features",
    "draw",
    "predict",
    "rank_correlation",
]
