"""Models with a card: those that ship, and those that a training has left in a folder."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from tent.data.data_folder import data_folder
from tent.data.preprocess import Preprocess
from tent.data.sets.catalog import SETS
from tent.models import find_network
from tent.models.entry import Entry
from tent.models.libraries import LIBRARIES
from tent.models.weight_files import load_weights

WEIGHTS, CARD, CHECKPOINT = "model.safetensors", "card.json", "checkpoint.pt"  # as a training names them
TRAINED = "trained:"  # how the zoo calls them
METHODS = ("rg", "uda-ss", "ttt")
SIDES = {"mnist": 28, "mnist-m": 32, "svhn": 32, "usps": 16}  # of digits, which do not fit each other as stored
RECIPES = {  # of models of the tables that are not trained by the defaults
    "r26-gn-cifar10": "--epochs 24 --lr 0.1 --precision float32",
    "hrnet-w18-small-v1-carla-7": "--size 176x288 --scales 0.5,1.25 --epochs 40 --batch 8 --lr 0.05",
}
# of what starts from a source model: by method and source; the paper has ten epochs of RG and UDA-SS on digits
JOINT_RECIPES = {
    ("ttt", "cifar10"): "--epochs 3 --lr 0.05",
    ("ttt", "cifar100"): "--epochs 3 --lr 0.05",
    ("ttt", "svhn"): "--epochs 2 --lr 0.05 --crop 2",
    **{(method, source): "--epochs 2 --lr 0.05" for method in ("rg", "uda-ss") for source in ("cifar10", "cifar100")},
    **{(method, "svhn"): "--epochs 10 --lr 0.05 --crop 2" for method in ("rg", "uda-ss")},
}
UNKNOWN_COMMAND = "tent train --method METHOD --out FOLDER"  # where a name does not tell


class Named(NamedTuple):
    """What the name of a training says of it."""

    network: str
    method: str
    source: str
    target: str = ""  # as a recipe has it: cifar10-c:fog:5:train


def build_from_card(name: str, card: Path, weights: Path, origin: str) -> Entry:
    """Return the model that a card describes, with its weights, which must be those that the card was written for."""
    about = read_card(card)
    try:
        model = find_network(about["model"])(classes=about["classes"])
        preprocess = Preprocess(size=about.get("size"), mean=about["mean"], std=about["std"])
        names, written, training = about["class_names"], about["weights_sha256"], dict(about.get("training") or {})
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{card}: not a card of a network that is known here ({error!r}); train it again") from None
    load_weights(model, name, weights)
    found = hashlib.sha256(weights.read_bytes()).hexdigest()
    if found != written:
        raise ValueError(f"{weights}: its hash is {found[:12]}, not {str(written)[:12]} as on its card; train it again")
    origin = f"{origin}, sha256 {found[:12]}"
    return Entry(name, model, preprocess, about["classes"], names, origin, training or None)


def load_trained(where: str) -> Entry:
    """Return the model of a training: a name in the data folder's `models`, or a folder of one's own."""
    folder = find_training(where)
    if not is_trained(where):
        raise FileNotFoundError(f"{TRAINED}{where}: {_explain_absence(where, folder)}")
    entry = build_from_card(f"{TRAINED}{where}", folder / CARD, folder / WEIGHTS, "trained")
    if folder == training_folder(where):
        _check_name(where, folder / CARD)
    return entry


def load_source_model(name: str) -> Entry:
    """Return a source model of the tables that does not ship, from the data folder's `models`."""
    folder = training_folder(name)
    if not (folder / CARD).is_file():
        raise FileNotFoundError(f"{name} is not trained yet; train it with: {train_command(name)}")
    entry = build_from_card(name, folder / CARD, folder / WEIGHTS, "trained")
    _check_name(name, folder / CARD)
    return entry


def split_source_name(name: str) -> tuple[str, str] | None:
    """Return network and set of a source model's name, such as r26w2-cifar10; None of other names."""
    for source in (each for each in SETS if name.endswith(f"-{each}")):
        network = name.removesuffix(f"-{source}")
        if is_network(network):
            return network, source
    return None


def tuned_name(network: str, source: str) -> str:
    """Return what a library's network that was tuned on a set is called: timm:resnet50 on visda-c, say."""
    return f"{network.replace(':', '-')}-{source}"


def split_tuned(name: str) -> tuple[str, str] | None:
    """Return network and set of such a name; None of other names."""
    for kind in (each for each in LIBRARIES if name.startswith(f"{each}-")):
        own = name.removeprefix(f"{kind}-")
        for source in (each for each in SETS if own.endswith(f"-{each}")):
            return f"{kind}:{own.removesuffix(f'-{source}')}", source
    return None


def is_network(name: str) -> bool:
    """Tell whether one of our networks is called so."""
    try:
        find_network(name)
    except ValueError:
        return False
    return ":" not in name  # a library's model may be called like one of ours for a set: hf:someone/r26-cifar10


def is_trained(where: str) -> bool:
    """Tell whether there is a training of a name that has come to its end: its card is written last."""
    return (find_training(where) / CARD).is_file()


def training_folder(name: str) -> Path:
    """Return the folder in which a training of a name lies, or will."""
    return data_folder() / "models" / name


def find_training(where: str) -> Path:
    """Return the folder of a training; a name comes before a folder of the same name."""
    named, own = training_folder(where), Path(where).expanduser()
    return own if own.is_dir() and not named.is_dir() else named


def read_card(path: Path, remedy: str = "train it again") -> dict[str, Any]:
    """Return what is on a card; what is none is said with a remedy."""
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not a card ({' '.join(str(error).split())}); {remedy}") from None
    if not isinstance(read, dict):
        raise ValueError(f"{path}: not a card; {remedy}")
    return read


def _explain_absence(where: str, folder: Path) -> str:
    if (folder / CHECKPOINT).is_file():
        return f"the training in {folder} has not ended; run its `tent train` command again to continue it"
    if folder.is_dir():
        return f"{folder} is no folder of a training; it has no {CARD}"
    return f"there is no such training, neither a folder nor in {folder.parent}; make it with: {train_command(where)}"


def train_command(name: str) -> str:
    """Return how to train `METHOD-SOURCE-TARGET`, as in `rg-svhn-mnist`, `ttt-SOURCE`, or `NETWORK-SOURCE`."""
    if own := split_tuned(name):
        return f"tent train --model {own[0]} --source {own[1]}"
    named = read_name(name)
    if named is None:
        return UNKNOWN_COMMAND
    words = ["tent train --model", named.network]
    if named.method == "source":
        words += ["--source", named.source, RECIPES.get(name, ""), f"--out {training_folder(name)}"]
        return " ".join(filter(None, words))
    words += ["--method", named.method, "--source", named.source]
    if named.target:
        here, there = SIDES.get(named.source), SIDES.get(named.target.split(":")[0])
        words += ["--target", named.target, f"--size {here}" if here and there and here != there else ""]
    if recipe := JOINT_RECIPES.get((named.method, named.source), ""):
        words += [recipe, f"--start {named.network}-{named.source}"]
    return " ".join(filter(None, words))


def read_name(name: str) -> Named | None:
    """Return what a name says: `NETWORK-SOURCE`, `METHOD-SOURCE-TARGET` or `ttt-SOURCE[-r26-gn]`; None of others."""
    if own := split_source_name(name):
        return Named(own[0], "source", own[1])
    method = next((each for each in METHODS if name.startswith(f"{each}-")), "")
    source, rest = _split_set(name.removeprefix(f"{method}-"))
    if method == "ttt" and source and re.fullmatch(r"|r26-gn", rest):
        return Named(rest or "r26", method, source)
    target, more = _split_set(rest)
    if method in ("rg", "uda-ss") and source and target and re.fullmatch(r"|test|[a-z_]+-[1-5](-train)?", more):
        return Named("r26", method, source, ":".join([target, *more.split("-")] if more else [target]))
    return None


def _check_name(name: str, card: Path) -> None:
    """Refuse a card of another training than its folder's name says: a table would show it under that name."""
    named, about = read_name(name), read_card(card)
    if named is None:
        return
    recipe, training = about.get("recipe") or {}, about.get("training") or {}
    found = Named(
        str(about.get("model")).removesuffix("-rotation"),
        training.get("method", "source"),
        str(recipe.get("data")),
        recipe.get("target") or "",
    )
    for what, due, own in zip(Named._fields, named, found, strict=True):
        if due != own:
            seen = f"{what} {own or 'none'!r}, and not {due or 'none'!r}"
            raise ValueError(f"{card}: a training of {seen} as its name says; move its folder away, or rename it")


def _split_set(text: str) -> tuple[str, str]:
    """Return the set that a text begins with, the longest that is known, and what follows it."""
    known = [each for each in SETS if text == each or text.startswith(f"{each}-")]
    found = max(known, key=len, default="")
    return found, text[len(found) :].removeprefix("-") if found else text
