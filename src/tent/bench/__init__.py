"""Benchmarks: a case is run once and kept; tables and figures read what is kept and never run a model."""

from tent.bench.case import Case, Data
from tent.bench.result import Result
from tent.bench.store import Store
from tent.bench.suite import Cell, Suite

__all__ = ["Case", "Cell", "Data", "Result", "Store", "Suite"]
