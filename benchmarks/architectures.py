"""Every architecture against a Tent written out here, in float64: the same answers and parameters, lean or not.

Run: python benchmarks/architectures.py [--out FILE] [NAME ...]. What FILE holds already is not run again.
Exit code 1 where one differs.
"""

import argparse
import copy
import gc
import json
import sys
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from architecture_models import MODELS, Inputs
from torch import Tensor, nn

import tent

STEPS, BAR = 2, 1e-9  # BAR: how far apart numbers may be, as a share of the largest of their tensor
AMPLIFIED = 30  # or so many times as far as the last bit of the inputs moves the reference itself
AFFINE = {"weight", "bias", "gamma", "beta", "scale", "shift"}


class Reference:
    """Tent as its paper has it: a copy, batch statistics, Adam on the norms' scales and shifts, entropy."""

    def __init__(self, model: nn.Module) -> None:
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        for module in self.model.modules():
            if isinstance(module, nn.modules.batchnorm._NormBase):
                module.track_running_stats = False
                module.running_mean = module.running_var = None
            if "norm" in type(module).__name__.lower():
                for name, param in module.named_parameters(recurse=False):
                    param.requires_grad_(name in AFFINE and param.numel() == max(param.shape, default=1))
        self.params = {name: p for name, p in self.model.named_parameters() if p.requires_grad}
        self.optimizer = torch.optim.Adam(self.params.values(), lr=1e-3, foreach=False) if self.params else None

    def step(self, inputs: Inputs) -> Tensor:
        """Answer, and update behind the answer."""
        output = self.model(*inputs[0], **inputs[1])
        logits = find_logits(output)
        tokens = hasattr(output, "to_tuple") and logits.dim() == 3
        rows = logits.flatten(0, 1) if tokens else logits.movedim(1, -1).flatten(0, -2)
        mask = inputs[1].get("attention_mask")
        if tokens and mask is not None and mask.shape == logits.shape[:2]:
            rows = rows[mask.flatten().bool()]
        loss = -(rows.softmax(1) * rows.log_softmax(1)).sum(1).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        if self.optimizer is not None:
            self.optimizer.step()
            self.optimizer.zero_grad()
        return logits.detach()


def find_logits(output: Any) -> Tensor:
    """Return the logits of what a model of these libraries returns."""
    if isinstance(output, tuple | list):
        output = output[0]
    if isinstance(output, dict):
        output = output["out"] if "out" in output else output["logits"]
    return output.logits if hasattr(output, "logits") else output  # type: ignore[no-any-return]


def distance(one: Tensor, other: Tensor) -> float:
    """Return the largest difference, as a share of the largest value."""
    one, other = one.detach(), other.detach()
    return float((one - other).abs().max() / other.abs().max().clamp_min(1e-12))


def check(name: str) -> dict[str, Any]:
    """Return what became of an architecture: agrees, refused and why, or differs and in what."""
    torch.manual_seed(0)
    try:
        model, inputs = MODELS[name]()
        with torch.no_grad():  # many heads and layer scales begin at zero, where nothing learns
            for param in model.parameters():
                param.add_(torch.randn_like(param), alpha=0.02)
            model.eval()(*inputs[0], **inputs[1])
        reference = Reference(model)
        if not reference.params:
            return {"result": "refused", "why": "it has no norm layer with a scale and shift"}
        answers = [reference.step(inputs) for _ in range(STEPS)]
    except Exception as error:  # noqa: BLE001 (whatever torch itself says)
        return {
            "result": "refused",
            "why": f"torch itself: {type(error).__name__}: {' '.join(str(error).split())[:150]}",
        }
    found: dict[str, Any] = {"result": "agrees", "inputs": describe(inputs), "moves": len(reference.params)}
    for word, lean in (("lean", True), ("plain", False)):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                found[word], problem = compare(model, inputs, lean, answers, reference.params)
                if not problem and found[word] > BAR:
                    found["last bit"] = found.get("last bit") or last_bit(model, inputs, answers, reference.params)
                    if found[word] > AMPLIFIED * found["last bit"]:
                        problem = f"{found[word]:.1e} apart, and the inputs' last bit makes {found['last bit']:.1e}"
            except Exception as error:  # noqa: BLE001 (it is to be listed, and the next one run)
                problem = explain(error)
        notes = [str(each.message) for each in said if str(each.message).startswith("tent:")]
        if notes:
            found[f"{word} says"] = notes[0]
        if problem:
            found |= {"result": "differs", "why": f"{word}: {problem}"}
    return found


def compare(
    model: nn.Module, inputs: Inputs, lean: bool, answers: list[Tensor], params: Mapping[str, Tensor]
) -> tuple[float, str]:
    """Return the largest distance from the reference, and what is wrong, if anything."""
    before, modes = copy.deepcopy(model.state_dict()), [module.training for module in model.modules()]
    adapted = tent.adapt(model, lean=lean)
    far = max(distance(find_logits(adapted(*inputs[0], **inputs[1])), answer) for answer in answers)
    own = dict(adapted.named_parameters())
    if own.keys() != params.keys():
        return far, f"{', '.join(sorted(own.keys() ^ params.keys())[:3])} moves in one of the two"
    far = max([far, *(distance(own[name], param) for name, param in params.items())])
    after = model.state_dict()
    if any(not torch.equal(after[name], tensor) for name, tensor in before.items()):
        return far, "the source was written to"
    if modes != [module.training for module in model.modules()] or any(p.grad is not None for p in model.parameters()):
        return far, "the source's modes or gradients changed"
    if adapted.skipped:
        return far, f"{adapted.skipped} batches were skipped"
    return far, ""


def last_bit(model: nn.Module, inputs: Inputs, answers: list[Tensor], params: Mapping[str, Tensor]) -> float:
    """Return how far the reference moves when the inputs do by their last bit: a deep net may amplify it a lot."""
    moved = tuple(x.nextafter(x * 2) for x in inputs[0])
    words = {name: x.nextafter(x * 2) if x.is_floating_point() else x for name, x in inputs[1].items()}
    reference = Reference(model)
    far = max(distance(reference.step((moved, words)), answer) for answer in answers)
    return max([far, *(distance(reference.params[name], param) for name, param in params.items())])


def explain(error: Exception) -> str:
    """Return an error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"


def describe(inputs: Inputs) -> str:
    """Return the shape of the first input."""
    return "x".join(map(str, next(iter((*inputs[0], *inputs[1].values()))).shape))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="of those to run, all if none; a part of a name will do"
    )
    parser.add_argument("--out", type=Path, default=Path("architectures.jsonl"), help="where results are kept")
    options = parser.parse_args()
    done: dict[str, dict[str, Any]] = {}
    if options.out.is_file():
        done = {row["name"]: row for row in map(json.loads, options.out.read_text().splitlines())}
    names = [name for name in MODELS if not options.names or any(part in name for part in options.names)]
    for name in names:
        if name in done and done[name]["result"] != "differs":
            continue
        began = time.perf_counter()
        with options.out.open("a") as file:  # first as one that killed the process, in case it does
            print(json.dumps({"name": name, "result": "differs", "why": "the process ended"}), file=file, flush=True)
            done[name] = {"name": name, **check(name), "seconds": round(time.perf_counter() - began, 1)}
            print(json.dumps(done[name]), file=file, flush=True)
        gc.collect()
        print(f"{name:60} {done[name]['result']:8} {done[name].get('why', '')}", flush=True)
    return report([done[name] for name in names])


def report(rows: list[dict[str, Any]]) -> int:
    """Print a table and the counts; return the exit code."""
    print("\n| architecture | inputs | result | lean | plain | |\n|---|---|---|---|---|---|")
    for row in rows:
        far = [f"{row[word]:.0e}" if word in row else "" for word in ("lean", "plain")]
        bit = f"the inputs' last bit moves the reference by {row['last bit']:.0e}" if "last bit" in row else ""
        why = row.get("why", row.get("lean says", bit))
        print(f"| {row['name']} | {row.get('inputs', '')} | {row['result']} | {far[0]} | {far[1]} | {why} |")
    counts = {result: sum(row["result"] == result for row in rows) for result in ("agrees", "refused", "differs")}
    print(f"\n{len(rows)} architectures: " + ", ".join(f"{count} {result}" for result, count in counts.items()))
    return 1 if counts["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
