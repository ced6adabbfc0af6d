"""The source model, read-only: it is run with other parameters and statistics than its own."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DataParallel, DistributedDataParallel

from tent.delta import fingerprint
from tent.engine import distributed
from tent.engine.execution import Execution
from tent.engine.mode import Forward, Mode, Moments
from tent.engine.structures import Inputs
from tent.norm import Source, Stats
from tent.select import Select, last_layer, nothing


class SourceModel:
    """A model and the places of its parameters and norm layers; places are looked into anew at every pass."""

    def __init__(self, model: nn.Module) -> None:
        self.model = unwrapped(model)
        self.modules = list(self.model.modules())
        places = dict(self.model.named_modules(remove_duplicate=False))
        self.places: dict[str, tuple[nn.Module, str]] = {}
        for name, _ in self.model.named_parameters():
            owner, _, own = name.rpartition(".")
            self.places[name] = (places[owner], own)
        self.norms = {name: layer for name, layer in self.model.named_modules() if "running_mean" in layer._buffers}
        self._hashed: tuple[Any, str] | None = None
        self.groups = distributed.groups(self.model)
        try:
            self.head: str | None = last_layer(self.model)[0]
        except ValueError:
            self.head = None

    def parameter(self, name: str) -> nn.Parameter:
        """Return the source's own parameter of this name, as it is now."""
        module, own = self.places[name]
        return module._parameters[own]  # type: ignore[return-value]

    def chosen(self, names: Iterable[str]) -> list[str]:
        """Return the selected names in the model's order, each tensor once, or say which of them cannot adapt."""
        wanted = dict.fromkeys(names)
        known = dict(self.model.named_parameters(remove_duplicate=False))
        kept = {id(self.parameter(name)): name for name in self.places}
        for name in wanted:
            if name not in known:
                raise ValueError(f"select: {type(self.model).__name__} has no parameter {name!r}")
            if not known[name].is_floating_point():
                raise ValueError(f"select: {name} is {known[name].dtype}, which has no gradient; leave it out")
        found = {kept[id(known[name])] for name in wanted}
        return [name for name in self.places if name in found]

    def require_anything_to_adapt(self, names: Sequence[str], stats: Stats, select: Select) -> None:
        """Refuse an adaptation that could never change an answer."""
        if names or (stats == Source() and select is nothing):
            return
        if stats == Source() or not self.norms:
            looked = getattr(select, "__name__", "select")
            raise ValueError(
                f"{type(self.model).__name__} has nothing to adapt: {looked} found no parameter (norm_affine looks for "
                "batch, layer, group, instance and RMS norms and classes named like them), and there is no batch norm "
                "whose statistics could change; pass another select, such as tent.select.last_layer"
            )

    def fingerprint(self) -> str:
        """Return the hash of the model's parameters and buffers, computed anew only when one of them has changed."""
        tensors = [*self.model.parameters(), *self.model.buffers()]
        state = tuple((id(t), 0 if t.is_inference() else t._version) for t in tensors)
        if self._hashed is None or self._hashed[0] != state:
            self._hashed = (state, fingerprint(self.model))
        return self._hashed[1]

    def run(
        self,
        inputs: Inputs,
        params: Mapping[str, Tensor],
        stats: Stats,
        moments: Mapping[str, Moments],
        observe: bool = False,
        execution: Execution = Execution(),  # noqa: B008 (as torch itself would, and never written to)
    ) -> tuple[Any, Forward]:
        """Run one pass at these parameters and statistics; gradients, if enabled, reach the given parameters alone.

        The caller holds the modules in eval mode, since a backward pass may need them so too.
        """
        head = id(self.parameter(self.head)) if self.head else 0
        stand_ins, layers = self._stand_ins(params), self._layers()

        def once(execution: Execution, inputs: Inputs) -> tuple[Any, Forward]:
            forward = Forward(stats, stand_ins, layers, moments, self.groups, head, observe, execution.buffers)
            args, kwargs = inputs
            with Mode(forward), execution.context():
                return execution.widened(self.model(*args, **kwargs)), forward

        group = next(iter(self.groups.values()), None)
        agree = bool if group is None else partial(distributed.agreed, group=group)
        return execution.run(once, inputs, agree)

    def _stand_ins(self, params: Mapping[str, Tensor]) -> dict[int, Tensor]:
        stand_ins = {}
        for name in self.places:
            own = self.parameter(name)
            if name in params:
                stand_ins[id(own)] = params[name].to(own.dtype)
            elif own.requires_grad:
                stand_ins[id(own)] = own.detach()  # the same memory, outside the graph
        return stand_ins

    def _layers(self) -> dict[int, str]:
        layers = {}
        for name, layer in self.norms.items():
            for tensor in (layer._parameters.get("weight"), layer._buffers["running_mean"]):
                if tensor is not None:
                    layers[id(tensor)] = name
        return layers


def unwrapped(model: nn.Module) -> nn.Module:
    """Return the model behind wrappers that have no part in testing, or say why it cannot be adapted."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"adapt needs a torch.nn.Module, got {type(model).__name__}")
    if isinstance(model, DistributedDataParallel):
        return unwrapped(model.module)
    if isinstance(getattr(model, "_orig_mod", None), nn.Module):  # what torch.compile returns
        return unwrapped(model._orig_mod)  # type: ignore[arg-type]
    if isinstance(model, DataParallel):
        raise ValueError("DataParallel runs copies of the model in threads of its own; adapt its .module instead")
    scripted = [name for name, module in model.named_modules() if isinstance(module, torch.jit.ScriptModule)]
    if scripted:
        where = f"its part {scripted[0]!r}" if scripted[0] else type(model).__name__
        raise ValueError(f"{where} is a ScriptModule, whose inside is hidden; adapt the Python model it was made from")
    if any(p.is_inference() for p in model.parameters()):
        raise ValueError("the model's weights were made under torch.inference_mode(); load them outside it")
    return model
