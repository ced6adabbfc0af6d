"""The methods that a case may name: the library's own, and the bound that they are held against."""

from tent.bench.execute.oracle import Oracle
from tent.method import Method
from tent.methods import METHODS as OWN

METHODS: dict[str, type[Method]] = {**OWN, "oracle": Oracle}
