"""What moves: a model -> the names of the parameters that adapt."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from torch import nn

Select: TypeAlias = Callable[[nn.Module], Iterable[str]]

NORM_CLASSES = (
    nn.modules.batchnorm._NormBase,  # batch, sync-batch and instance norm, 1d to 3d
    nn.LayerNorm,
    nn.GroupNorm,
    nn.RMSNorm,
)
# timm's LayerNorm2d, BatchNormAct2d, RmsNormFp32 and GlobalResponseNorm, transformers' LlamaRMSNorm, MambaRMSNormGated
_NORM_NAME = re.compile(r"norm(act)?\w?(\dd)?(fp\d\d|gated)?$", re.IGNORECASE)
_HEAD = re.compile(r"([^.]+\.)?(fc|classifier|heads?|score|lm_head|cls|logits)(\.|$)")  # as model zoos name classifiers
_SIDE_HEAD = re.compile(r"aux|rotation|(^|\.)branch", re.IGNORECASE)  # which the answer does not come from
_AFFINE = {"weight", "bias", "gamma", "beta", "scale", "shift"}


def is_norm(module: nn.Module) -> bool:
    """Tell whether a module is a normalisation layer, by its class or by its class's name."""
    return isinstance(module, NORM_CLASSES) or bool(_NORM_NAME.search(type(module).__name__))


def norm_layers(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Yield the name and module of each normalisation layer."""
    return ((name, module) for name, module in model.named_modules() if is_norm(module))


def norm_affine(model: nn.Module) -> list[str]:
    """Select the scale γ and shift β of every normalisation layer: batch, layer, group, instance, RMS and their kin."""
    return [
        f"{name}.{own}" if name else own
        for name, layer in norm_layers(model)
        for own, parameter in layer.named_parameters(recurse=False)
        if own in _AFFINE and parameter.numel() == max(parameter.shape, default=1)
    ]


def early_norm_affine(model: nn.Module) -> list[str]:
    """Select γ and β of every norm before the last stage: not of the last quarter of stages or blocks, nor behind them.

    That leaves out layer4 of a ResNet, blocks 9 to 11 of a ViT-B with the norm behind them, and stage 3 of our R-26. A
    model without numbered stages or blocks has no stage to leave out, and all its norms are selected.
    """
    norms = [name for name, _ in norm_layers(model)]
    late = _late_stages(norms)
    first = next((i for i, name in enumerate(norms) if late & set(_stages(name))), len(norms))
    return [name for name in norm_affine(model) if not any(_under(name, norm) for norm in norms[first:])]


def last_layer(model: nn.Module) -> list[str]:
    """Select the weight and bias of the layer that classifies; auxiliary heads are left aside."""
    head = find_head(model)
    if head is None:
        raise ValueError(f"last_layer: {type(model).__name__} has no linear or convolutional layer")
    own = dict(model.named_parameters(remove_duplicate=False))
    first_name = {id(parameter): name for name, parameter in model.named_parameters()}
    return [first_name[id(own[name])] for name in own if _under(name, head)]  # a tied weight by its first name


def feature_layers(model: nn.Module) -> list[str]:
    """Select every parameter but the last layer's: what makes the features."""
    head = set(last_layer(model))
    return [name for name in everything(model) if name not in head]


def find_head(model: nn.Module) -> str | None:
    """Return the name of the layer that classifies: the last one, of those named like a classifier if there are any."""
    layers = [
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear | nn.modules.conv._ConvNd) and not _SIDE_HEAD.search(name)
    ]
    named = [name for name in layers if _HEAD.match(name)]
    candidates = named or layers
    return candidates[-1] if candidates else None


def only(names: Iterable[str]) -> Select:
    """Select the parameters of these names."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"select must be a function of the model or names such as ['fc.weight'], got {names!r}")
    chosen = list(names)

    def select(model: nn.Module) -> list[str]:
        return chosen

    return select


def all_but(*prefixes: str) -> Select:
    """Select every parameter but those under the given module or parameter names."""

    def select(model: nn.Module) -> list[str]:
        names = everything(model)
        for prefix in prefixes:
            if not any(_under(name, prefix) for name in names):
                parts = ", ".join(dict(model.named_children())) or "none"
                raise ValueError(
                    f"all_but: nothing in {type(model).__name__} is called {prefix!r}; its parts are {parts}"
                )
        return [name for name in names if not any(_under(name, prefix) for prefix in prefixes)]

    return select


def everything(model: nn.Module) -> list[str]:
    """Select every parameter."""
    return [name for name, parameter in model.named_parameters() if parameter.is_floating_point()]


def nothing(model: nn.Module) -> list[str]:
    """Select no parameter."""
    return []


def _stages(norm: str) -> Iterator[tuple[str, int]]:
    # the numbered modules that a norm lies in: ("layer", 4) and ("layer4.", 0) of layer4.0.bn1
    for match in re.finditer(r"(\d+)\.", norm):
        yield norm[: match.start()], int(match[1])


def _late_stages(norms: list[str]) -> set[tuple[str, int]]:
    # of the series that holds the most norms, the last one if several do, its last quarter
    series: dict[str, list[int]] = {}
    for norm in norms:
        for prefix, number in _stages(norm):
            series.setdefault(prefix, []).append(number)
    series = {prefix: numbers for prefix, numbers in series.items() if len(set(numbers)) > 1}
    if not series:
        return set()
    prefix = max(reversed(series), key=lambda each: len(series[each]))
    stages = sorted(set(series[prefix]))
    return {(prefix, stage) for stage in stages[-max(1, len(stages) // 4) :]}


def _under(name: str, prefix: str) -> bool:
    return not prefix or name == prefix or name.startswith(prefix + ".")
