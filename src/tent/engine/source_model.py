"""The source model, read-only: it is run with other parameters and statistics than its own."""

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DataParallel, DistributedDataParallel

from tent.engine import distributed
from tent.engine.execution import Execution
from tent.engine.mode import Mode, Moments, PassContext
from tent.engine.structures import Inputs, list_tensors, map_tensors
from tent.norm import Source, Stats
from tent.select import Select, find_head, norm_affine, nothing


class SourceModel:
    """A model and the places of its parameters and norm layers; places are looked into anew at every pass."""

    def __init__(self, model: nn.Module) -> None:
        self.model = unwrap(model)
        self.modules = list(self.model.modules())
        places = dict(self.model.named_modules(remove_duplicate=False))
        self.places: dict[str, tuple[nn.Module, str]] = {}
        for name, _ in self.model.named_parameters():
            owner, _, own = name.rpartition(".")
            self.places[name] = (places[owner], own)
        kept = {name: layer for name, layer in self.model.named_modules() if "running_mean" in layer._buffers}
        self.norms = {name: layer for name, layer in kept.items() if "weight" not in layer._buffers}
        self.frozen = [name for name in kept if name not in self.norms]  # γ, β and statistics are constants to them
        self.groups = distributed.find_groups(self.model)
        head = find_head(self.model)
        self.head = places[head] if head is not None else None  # the layer whose input are the features
        self._hash: tuple[Any, str] | None = None

    def parameter(self, name: str) -> nn.Parameter:
        """Return the source's own parameter of this name, as it is now."""
        module, own = self.places[name]
        return module._parameters[own]  # type: ignore[return-value]

    def resolve(self, names: Iterable[str]) -> list[str]:
        """Return the selected names in the model's order, each tensor once, or say which of them cannot adapt."""
        selected = dict.fromkeys(names)
        known = dict(self.model.named_parameters(remove_duplicate=False))
        first_name = {id(self.parameter(name)): name for name in self.places}
        for name in selected:
            if name not in known:
                near = get_close_matches(str(name), known, 1, 0) or ["none"]
                raise ValueError(
                    f"select: {type(self.model).__name__} has no parameter {name!r}; the nearest is {near[0]!r}"
                )
            if not known[name].is_floating_point():
                raise ValueError(f"select: {name} is {known[name].dtype}, which has no gradient; leave it out")
        resolved = {first_name[id(known[name])] for name in selected}
        return [name for name in self.places if name in resolved]

    @property
    def has_statistics(self) -> bool:
        """Whether there is a norm layer with statistics of training, which others can take the place of."""
        return any(layer._buffers["running_mean"] is not None for layer in self.norms.values())

    @property
    def normalizes_batches(self) -> bool:
        """Whether there is a batch norm with statistics of training, in this process alone."""
        kinds = [layer for layer in self.norms.values() if layer._buffers["running_mean"] is not None]
        return not self.groups and any(not isinstance(k, nn.modules.instancenorm._InstanceNorm) for k in kinds)

    def require_anything_to_adapt(self, names: Sequence[str], stats: Stats, select: Select) -> None:
        """Refuse an adaptation that could never change an answer."""
        if names or (stats == Source() and select is nothing) or (stats != Source() and self.has_statistics):
            return
        raise ValueError(f"{type(self.model).__name__} has nothing to adapt: {self._explain_nothing(stats, select)}")

    def _explain_nothing(self, stats: Stats, select: Select) -> str:
        found = "" if select is nothing else f"{getattr(select, '__name__', 'select')} found no parameter, and "
        move = "pass another select, such as tent.Tent() with select=tent.select.last_layer"
        if self.frozen:
            layers = f"{len(self.frozen)} frozen norm layers, such as {self.frozen[0]!r}, keep their statistics"
            return f"{found}{layers}; build it with nn.BatchNorm2d (torchvision: norm_layer=nn.BatchNorm2d), or {move}"
        if stats == Source():
            return f"{found}the source's statistics stay; {move}"
        if norm_affine(self.model):
            move = "its norm layers have γ and β, which tent.Tent() moves"
        return f"{found}there is no batch norm whose statistics could change; {move}"

    def fingerprint(self) -> str:
        """Return the hash of the model's parameters and buffers, computed anew only when one of them has changed."""
        tensors = [*self.model.parameters(), *self.model.buffers()]
        versions = tuple((id(t), 0 if t.is_inference() else t._version) for t in tensors)
        if self._hash is None or self._hash[0] != versions:
            self._hash = (versions, fingerprint(self.model))
        return self._hash[1]

    def run(
        self,
        inputs: Inputs,
        params: Mapping[str, Tensor],
        stats: Stats,
        moments: Mapping[str, Moments],
        *,
        observe: bool = False,
        execution: Execution = Execution(),  # noqa: B008 (as torch itself would, and never written to)
        call: Callable[..., Any] | None = None,
    ) -> tuple[Any, PassContext]:
        """Run one pass at these parameters and statistics; gradients, if enabled, reach the given parameters alone.

        The caller holds the modules in eval mode, since a backward pass may need them so too.

        Args:
            call: a part or method of the model to call in its place.
        """
        weight = self.head._parameters.get("weight") if self.head is not None else None
        stand_ins, layers = self._stand_ins(params), self._layers()
        given = {id(tensor) for tensor in list_tensors(inputs)}

        def once(execution: Execution, inputs: Inputs) -> tuple[Any, PassContext]:
            head = id(weight) if weight is not None else 0
            context = PassContext(stats, stand_ins, layers, moments, self.groups, head, observe, execution.buffers)
            # a model that prepares its input in place must not write to the caller's, nor find it prepared already
            args, kwargs = map_tensors(inputs, lambda tensor: tensor.clone() if id(tensor) in given else tensor)
            with Mode(context), execution.context():
                return execution.widen((call or self.model)(*args, **kwargs)), context

        group = next(iter(self.groups.values()), None)
        agree = bool if group is None else partial(distributed.agree, group=group)
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


class SourceTensors(Mapping[str, Tensor]):
    """The source's own parameters by name, detached, as they are now; they are to be read and never written to."""

    def __init__(self, source: SourceModel) -> None:
        self._source = source

    def __getitem__(self, name: str) -> Tensor:
        return self._source.parameter(name).detach()

    def __iter__(self) -> Iterator[str]:
        return iter(self._source.places)

    def __len__(self) -> int:
        return len(self._source.places)


_lock = threading.Lock()
_holders: dict[int, tuple[nn.Module, set[object]]] = {}  # id of a module found in train mode -> calls that hold it


@contextmanager
def eval_mode(modules: Sequence[nn.Module]) -> Iterator[None]:
    """Hold the modules in eval mode; the last of the calls under way, from whichever thread, puts train mode back."""
    call = object()
    try:
        with _lock:
            for module in modules:
                if module.training or id(module) in _holders:
                    _holders.setdefault(id(module), (module, set()))[1].add(call)
                    module.training = False
        yield
    finally:
        _let_go(modules, call)


def _let_go(modules: Sequence[nn.Module], call: object) -> None:
    # an interrupt on the way is raised when all is done: every line here may be run twice
    try:
        with _lock:
            for module in modules:
                calls = _holders.get(id(module), (module, set()))[1]
                if call in calls and len(calls) == 1:
                    module.training = True
                    _holders.pop(id(module), None)
                calls.discard(call)
    except KeyboardInterrupt:
        _let_go(modules, call)
        raise


def fingerprint(model: nn.Module) -> str:
    """Return a hash of every parameter and buffer of a model: names, types, shapes and values."""
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        if isinstance(tensor, Tensor):
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)};".encode())
            digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def unwrap(model: nn.Module) -> nn.Module:
    """Return the model behind wrappers that have no part in testing, or say why it cannot be adapted."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"adapt needs a torch.nn.Module, got {type(model).__name__}")
    _require_hashes(model)
    if isinstance(model, DistributedDataParallel):
        return unwrap(model.module)
    if isinstance(getattr(model, "_orig_mod", None), nn.Module):  # what torch.compile returns
        return unwrap(model._orig_mod)  # type: ignore[arg-type]
    if isinstance(model, DataParallel):
        raise ValueError("DataParallel runs copies of the model in threads of its own; adapt its .module instead")
    scripted = [name for name, module in model.named_modules() if isinstance(module, torch.jit.ScriptModule)]
    if scripted:
        where = f"its part {scripted[0]!r}" if scripted[0] else type(model).__name__
        raise ValueError(f"{where} is a ScriptModule, whose inside is hidden; adapt the Python model it was made from")
    if any(p.is_inference() for p in model.parameters()):
        raise ValueError("the model's weights were made under torch.inference_mode(); load them outside it")
    return model


def _require_hashes(model: nn.Module) -> None:
    # torch lists the parts of a model in sets
    parts: list[nn.Module | None] = [model]
    for part in parts:
        if type(part).__hash__ is None:
            raise ValueError(
                f"{type(part).__name__} defines __eq__ without __hash__, so that torch cannot list the model's parts; "
                "add `__hash__ = torch.nn.Module.__hash__` to the class"
            )
        parts += part._modules.values() if part is not None else ()
