"""Means by domain: loss and entropy by level of corruption (Figure 2), and error by type (Figure 5)."""

from dataclasses import dataclass

import numpy as np

from tent.analysis.collector import Collector
from tent.analysis.numbers import Numbers, Row, Value
from tent.analysis.observation import Domain, Floats, Observation
from tent.analysis.ranks import rank_correlation


@dataclass
class _Sums:
    images: int = 0
    entropy: float = 0.0
    loss: float = 0.0
    wrong: float = 0.0
    labelled: bool = True


class _ByDomain(Collector):
    sees_original = True

    def __init__(self) -> None:
        self._sums: dict[tuple[str, Domain], _Sums] = {}

    def add(self, seen: Observation) -> None:
        """Count a batch."""
        for method, own in seen.by_method.items():
            sums = self._sums.setdefault((method, seen.domain), _Sums())
            sums.images += len(seen)
            sums.entropy += float(own.entropy.sum())
            if own.loss is None or own.wrong is None:
                sums.labelled = False
            else:
                sums.loss += float(own.loss.sum())
                sums.wrong += float(own.wrong.sum())

    def _rows(self) -> list[Row]:
        rows: list[Row] = []
        labelled = any(sums.labelled for sums in self._sums.values())
        for (method, domain), sums in self._sums.items():
            known: dict[str, Value] = {"loss": None, "error": None} if labelled else {}
            if sums.labelled:
                known = {"loss": sums.loss / sums.images, "error": sums.wrong / sums.images}
            where = {"method": method, "type": domain.type, "level": domain.level, "original": int(domain.original)}
            rows.append({**where, "images": sums.images, "entropy": sums.entropy / sums.images, **known})
        return rows

    def _notes(self) -> list[str]:
        """Say which domains have no labels, where others have some."""
        bare = list(dict.fromkeys(domain.name for (_, domain), sums in self._sums.items() if not sums.labelled))
        if not bare or not any(sums.labelled for sums in self._sums.values()):
            return []
        more = f" and {len(bare) - 1} more" if len(bare) > 1 else ""
        return [f"{bare[0]}{more} without labels: no loss and no error of it"]


class LossByLevel(_ByDomain):
    """Mean loss and entropy of every domain, and the rank correlation of both; without labels entropy alone."""

    name = "loss-by-level"
    needs_labels = False

    def numbers(self) -> Numbers:
        """Return the means of every method in every domain, and for each method the rank correlations."""
        rows, methods = self._rows(), dict.fromkeys(method for method, _ in self._sums)
        found = {method: _correlations([row for row in rows if row["method"] == method]) for method in methods}
        return Numbers(self.name, {"": rows}, found, self._notes())


class ErrorByType(_ByDomain):
    """Mean error of every type over its levels, with the original data."""

    name = "error-by-type"

    def numbers(self) -> Numbers:
        """Return each type's error, every level counting alike, and each method's mean over the types."""
        levels, rows, means = self._rows(), [], {}
        for method in dict.fromkeys(method for method, _ in self._sums):
            own = [row for row in levels if row["method"] == method and row.get("error") is not None]
            types = dict.fromkeys((row["type"], row["original"]) for row in own)
            for kind, original in types:
                part = [row for row in own if (row["type"], row["original"]) == (kind, original)]
                images = sum(int(row["images"] or 0) for row in part)
                error = float(np.mean(_column(part, "error")))
                rows.append({"method": method, "type": kind, "original": original, "images": images, "error": error})
            shifted = [row["error"] for row in rows if row["method"] == method and not row["original"]]
            means[method] = float(np.mean(shifted)) if shifted else None  # type: ignore[arg-type]
        return Numbers(self.name, {"": rows}, {"mean error over types": means}, self._notes())


def _correlations(rows: list[Row]) -> dict[str, Value]:
    """Return rank correlations over all shifted domains, and their mean over types, each with the original data."""
    original, shifted = [row for row in rows if row["original"]], [row for row in rows if not row["original"]]
    types = [[row for row in shifted if row["type"] == kind] for kind in dict.fromkeys(row["type"] for row in shifted)]
    found: dict[str, Value] = {}
    for one, other in (("loss", "entropy"), ("entropy", "level"), ("loss", "level")):
        if len(shifted) < 3 or any(row.get(name) is None for row in shifted for name in (one, other)):
            continue
        found[f"{one} and {other}"] = rank_correlation(_column(shifted, one), _column(shifted, other))
        first = [row for row in original if row.get(one) is not None]
        own = [[*first, *part] for part in types if len(first) + len(part) > 2 and part[0]["level"] is not None]
        within = [rank_correlation(_column(each, one), _column(each, other)) for each in own]
        known = [value for value in within if value is not None]
        if known:
            found[f"{one} and {other}, within a type"] = float(np.mean(known))
    return found


def _column(rows: list[Row], name: str) -> Floats:
    return np.array([row[name] for row in rows], dtype=np.float64)
