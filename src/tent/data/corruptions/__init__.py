"""The corruption benchmark of Hendrycks & Dietterich (ICLR 2019), made from clean images: 19 types at 5 severities."""

from tent.data.corruptions.apply import BENCHMARK, CORRUPTIONS, HELD_OUT, corrupt

__all__ = ["BENCHMARK", "CORRUPTIONS", "HELD_OUT", "corrupt"]
