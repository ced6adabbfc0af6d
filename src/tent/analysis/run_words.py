"""What was run, in words: the protocol that numbers carry, and the titles of pictures."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tent.adapted import Adapted
from tent.analysis.observation import Domain
from tent.data import Stream
from tent.evaluate import protocol


def describe_models(
    models: Mapping[str, Adapted], streams: Mapping[Domain, Stream], data: str, epochs: int = 0
) -> dict[str, dict[str, str]]:
    """Return every model's protocol over all shifted domains; call it after the run, since it counts updates."""
    shifted = {domain: stream for domain, stream in streams.items() if not domain.original}
    first, when = next(iter(shifted.values())), dict[str, Any](offline=True, epochs=epochs) if epochs else {}
    words = {name: protocol(model, first, reset="domain", **when) for name, model in models.items()}
    if len(shifted) > 1:
        names, total = [domain.name for domain in shifted], sum(stream.total for stream in shifted.values())
        what = f"{data}: {len(shifted)} domains, from {names[0]} to {names[-1]}; the first is [{first.protocol}]"
        for own in words.values():
            own |= {"data": what, "images": f"{total:,}, in {len(shifted)} domains"}
    return words


def make_title(model: str, data: str, streams: Mapping[Domain, Stream], epochs: int, lr: float | None) -> str:
    """Return the title of pictures: the model, the data, how many domains and images, and when it learnt."""
    shifted = {domain: stream for domain, stream in streams.items() if not domain.original}
    types, levels = {domain.type for domain in shifted}, {domain.level or 0 for domain in shifted}
    what = f": {len(types)} types × {len(levels)} levels"
    if len(shifted) == 1:
        only = next(iter(shifted)).name
        what = "" if only == short_name(data) else f": {only}"
    images = next(iter(shifted.values())).total
    rate = f", rate {lr:g}" if lr is not None else ""
    when = f"offline, {epochs} passes" if epochs > 1 else "offline, 1 pass" if epochs else "online"
    each = f"{images:,} images{' each' if len(shifted) > 1 else ''}, {when}{rate}"
    return f"{model} on {short_name(data)}{what}, {each}"


def short_name(data: str) -> str:
    """Return what data are called: the set, the folder, or the file of images where labels are named behind it."""
    return Path(data.split(",")[0]).name
