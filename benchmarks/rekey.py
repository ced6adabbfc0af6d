"""Re-key a store once: cases in their second form, counts beside them, and every number as it was."""

import json
import re
import sys
from pathlib import Path
from typing import Any

from tent.bench.case import Case
from tent.bench.result import Result
from tent.bench.store import Store

OWN_ANSWERS = {"ttt": "after"}  # every other method on record: before
LEARNS = ("pl", "tent", "oracle", "ttt")
SAME = (
    *("metrics", "by_batch", "seconds", "images_per_second", "peak_memory", "images", "protocol", "versions"),
    *("hardware", "commit", "finished", "error", "training"),
)


def new_case(old: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the second form of a case, and how its options were chosen."""
    case = {**old, "data": [old["data"]]}
    chosen = case.pop("note", {}).get("chosen", {})
    if case.get("answers", "before") == OWN_ANSWERS.get(case["method"], "before"):
        case.pop("answers", None)
    elif "answers" not in case:
        raise ValueError(f"answers before the update were the default of a {case['method']}")
    return case, chosen


def counts(old: dict[str, Any]) -> dict[str, int]:
    """Return the samples that went through the model, by the rule of the first edition, and the batches on record."""
    case, images = old["case"], old["images"]
    if "fit" in case or case.get("when") == "episodic" or "copies" in case.get("options", {}):
        raise ValueError("not derived here")
    learnt = images * case.get("epochs", 1)
    updates, skipped = (int(n.replace(",", "")) for n in re.findall(r"[\d,]+(?= batches| passed)", old["protocol"]["updates"]))
    if skipped:
        raise ValueError("a skipped batch: its passes are not known")
    if case["method"] not in LEARNS:
        if case.get("when") == "offline" or case.get("epochs", 1) != 1:
            raise ValueError("not derived here")
        return {"forwards": images, "backwards": 0, "updates": updates, "skipped": skipped}
    steps = learnt * case.get("steps", 1)
    own = case.get("when") != "offline" and case.get("answers", "before") == "before" and case["method"] != "ttt"
    return {"forwards": steps + (0 if own else images), "backwards": steps, "updates": updates, "skipped": skipped}


def main() -> None:
    folder = Path(sys.argv[1])
    before = {path: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    store, files, chosen, moved, numbers = Store(folder), {}, 0, 0, 0
    for path, old in before.items():
        form, choices = new_case(old["case"])
        case = Case.from_json(form)
        assert case.to_json() == form, path
        given = {name: old[name] for name in SAME if name in old}
        result = Result(case, **given, counts=counts(old), choices=choices)
        assert store.path(case) not in files, f"two results of one case: {path} and {files[store.path(case)]}"
        files[store.path(case)] = path
        path.unlink()
        before[path]["result"] = result
        chosen += bool(choices)
        moved += store.path(case) != path
    for old in before.values():
        store.put(old["result"])
    for new, path in files.items():
        read, old = json.loads(new.read_text(encoding="utf-8")), before[path]
        for name in SAME:
            assert json.dumps(read.get(name)) == json.dumps(old.get(name)), (path, name)
            numbers += len(re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", json.dumps(read.get(name))))
        assert new.stem == Case.from_json(read["case"]).key()[:24]
    whole = store.all()
    assert len(whole) == len(before) == len(list(folder.glob("*.json"))) == len(files)
    assert not list(folder.glob("*.damaged"))
    print(f"{len(files)} files before and after, {moved} re-keyed, {chosen} with a choice moved to their provenance")
    print(f"{numbers:,} numbers in {', '.join(SAME)}: all as before, to the last digit")


if __name__ == "__main__":
    main()
