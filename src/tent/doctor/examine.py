"""The doctor: what would go wrong with this model and this batch, and what to do about it."""

from collections import Counter
from typing import Any

import torch
from torch import Tensor, nn

from tent.adapted import Adapted, adapt
from tent.doctor.findings import Report
from tent.doctor.memory import nbytes, readable, saved_bytes
from tent.engine.forward_pass import ForwardPass
from tent.engine.source_model import SourceModel, eval_mode, unwrap
from tent.engine.structures import Inputs, Picker, all_finite, count_samples, detach_inputs, list_tensors
from tent.facade import refuse_adapted
from tent.losses import entropy
from tent.methods import BN, Source, Tent
from tent.norm import FEW_SAMPLES, USUAL_BATCH, for_batch_size
from tent.select import norm_affine, norm_layers

FEW_VALUES = 64  # a mean over fewer is off by more than an eighth of a standard deviation
DROPOUTS = ("Dropout", "DropPath", "StochasticDepth", "DropBlock")


def doctor(model: nn.Module, *inputs: Any, logits: Picker | None = None, **kwargs: Any) -> Report:
    """Examine a model and, if inputs are given, one step on them; the model is left as it was found."""
    report = Report(type(model).__name__)
    try:
        refuse_adapted(model)
        model = unwrap(model)
    except ValueError as error:
        what, _, remedy = str(error).partition("; ")
        report.add("error", what, remedy)
        return report
    _layers(report, model)
    _frozen(report, model)
    _switches(report, model)
    if inputs or kwargs:
        batch = detach_inputs((inputs, kwargs))
        _batch(report, batch)
        _step(report, model, batch, logits)
    return report


def _layers(report: Report, model: nn.Module) -> None:
    kinds = Counter(type(layer).__name__ for _, layer in norm_layers(model))
    sizes = {name: parameter.numel() for name, parameter in model.named_parameters(remove_duplicate=False)}
    moving, total = sum(sizes[name] for name in norm_affine(model)), sum(p.numel() for p in model.parameters())
    report.facts["norm layers"] = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()) or "none"
    report.facts["adapts"] = f"{moving:,} of {total:,} parameters ({moving / max(total, 1):.2%})"
    if not kinds:
        report.add("error", "there are no norm layers", "choose what moves: select=tent.select.last_layer")
    elif not moving and SourceModel(model).has_statistics:
        report.add("note", "the norm layers have no γ and β", "only their statistics adapt, as with tent.BN()")
    elif not moving and not SourceModel(model).frozen:
        what = "the norm layers have neither γ and β nor statistics of training"
        report.add("error", what, "choose what moves: select=tent.select.last_layer")


def _frozen(report: Report, model: nn.Module) -> None:
    source = SourceModel(model)
    frozen, adapts = source.frozen, source.has_statistics or norm_affine(model)
    if frozen:
        report.add(
            "warning" if adapts else "error",
            f"{len(frozen)} frozen norm layers, such as {frozen[0]!r}, keep γ, β and statistics as constants",
            "build the model with nn.BatchNorm2d in their place (torchvision: norm_layer=nn.BatchNorm2d)",
        )


def _switches(report: Report, model: nn.Module) -> None:
    drops = [name for name, layer in model.named_modules() if type(layer).__name__.startswith(DROPOUTS)]
    if drops:
        report.add("note", f"{len(drops)} dropout or stochastic depth layers", "they stay off while adapting")
    if any(module.training for module in model.modules()):
        report.add("note", "the model is in train mode", "it is run in eval mode and left as it was")


def _batch(report: Report, batch: Inputs) -> None:
    if not all_finite(batch):
        report.add("error", "the batch holds NaN or Inf", "look at the preprocessing; such batches are skipped")
    images = [t for t in list_tensors(batch) if t.dim() == 4]
    if not images or not images[0].numel():
        return
    low, high = images[0].min().item(), images[0].max().item()
    seen = f"the images are {images[0].dtype} from {low:.3g} to {high:.3g}".replace("torch.", "")
    if not images[0].is_floating_point():
        report.add("error", f"{seen}, which models do not take", "turn them into floats and normalise as in training")
    elif low >= 0 and high > 2:
        report.add("warning", f"{seen}: raw pixels?", "scale and normalise them as in training, by its mean and std")
    elif low >= 0 and high <= 1:
        report.add("note", f"{seen}: not normalised?", "if the model was trained with a mean and std, apply them")


def _step(report: Report, model: nn.Module, batch: Inputs, logits: Picker | None) -> None:
    method = Tent() if norm_affine(model) else BN() if SourceModel(model).has_statistics else Source()
    adapted = adapt(model, method, logits=logits)
    before = adapted.state.setup.source.fingerprint()
    weights = [*model.parameters(), *model.buffers(), *adapted.parameters(), *list_tensors(batch)]
    try:
        with torch.inference_mode(False), eval_mode(adapted.state.setup.source.modules):
            with saved_bytes(weights) as kept:
                seen = adapted.state.run(batch, grad=True, observe=True)
                seen.output  # noqa: B018 (the pass is made here)
            _answers(report, seen.logits.detach())
            _gradients(report, adapted, seen)
    except (ValueError, RuntimeError, ArithmeticError, TypeError, LookupError, AttributeError, AssertionError) as error:
        what, _, remedy = " ".join(str(error).split()).partition("; ")
        report.add(
            "error", f"a step failed: {what}", remedy or "call the model itself on this batch, and mend that first"
        )
        return
    state = 3 * nbytes(adapted.parameters())  # γ and β, and Adam's two moments of each
    report.facts["memory of a step"] = f"{readable(kept.bytes)} of activations, {readable(state)} of state"
    _statistics(report, adapted, seen)
    if adapted.state.setup.source.fingerprint() != before:
        report.add("warning", "the model writes to its own buffers when it is called", "adapt a copy, if that matters")


def _answers(report: Report, logits: Tensor) -> None:
    report.facts["answers"] = f"logits of shape {tuple(logits.shape)}, {logits.shape[1]} classes"
    if not logits.isfinite().all():
        report.add("error", "the model's outputs are not finite", "look at the weights and the input's scale")
    elif logits.min() >= 0 and (logits.sum(1) - 1).abs().max() < 1e-3:
        report.add(
            "error",
            "the outputs are probabilities, where logits are expected",
            "take the softmax out of the model, or pass adapt(model, logits=lambda p: p.log())",
        )
    elif logits.min() >= 0 and logits.max() <= 1 and logits.max() > logits.min():
        report.add(
            "warning",
            "the outputs lie between 0 and 1, as those of a sigmoid do, where logits are expected",
            "take the sigmoid out of the model, or pass adapt(model, logits=lambda p: p.logit(1e-6))",
        )


def _gradients(report: Report, adapted: Adapted, seen: ForwardPass) -> None:
    params = dict(adapted.named_parameters())
    if not params:
        return
    if not seen.logits.requires_grad:
        report.add("error", "no gradient reaches γ and β", "run the model without torch.no_grad() inside its forward")
        return
    with torch.enable_grad():
        adapted.state.backward(entropy(seen.logits).mean())
    unmet = [name for name, param in params.items() if param.grad is None]
    if unmet:
        report.add(
            "warning",
            f"{len(unmet)} of {len(params)} norm parameters, such as {unmet[0]!r}, had no part in the answer",
            "they are unused, or used out of sight; they will not adapt",
        )


def _statistics(report: Report, adapted: Adapted, seen: ForwardPass) -> None:
    norms, met = adapted.state.setup.source.norms, seen.moments
    hidden = [name for name in norms if name not in met]
    if hidden:
        report.add(
            "warning",
            f"{len(hidden)} of {len(norms)} layers with running statistics, such as {hidden[0]!r}, did not call "
            "batch_norm: they normalise by hand, or are unused",
            "make them call torch.nn.functional.batch_norm, or accept that they keep the source's statistics",
        )
    if not met:
        return
    name = min(met, key=lambda layer: met[layer].values)
    values, samples = met[name].values, count_samples(seen.inputs)
    report.facts["statistics"] = f"from {values} values a channel at the least, in {name!r}, of {samples} samples"
    _samples(report, adapted, seen, samples)
    if values < FEW_VALUES:
        report.add(
            "warning",
            f"{name!r} has {values} values a channel ({samples} samples of {values // samples} positions), "
            "whose statistics are noisy",
            f"bring batches of {-(-FEW_VALUES * samples // values)} or more, or pass stats=tent.norm.Prior(16)",
        )


def _samples(report: Report, adapted: Adapted, seen: ForwardPass, samples: int) -> None:
    # where every pixel is told, one image is many samples
    if not adapted.state.setup.source.normalizes_batches or seen.logits.dim() > 2 or samples >= USUAL_BATCH:
        return
    remedy = f"pass stats=tent.norm.{for_batch_size(samples)!r}, or bring batches of {USUAL_BATCH} or more"
    if samples < FEW_SAMPLES:
        few = f"{samples} {'sample' if samples == 1 else 'samples'} in a batch"
        report.add("error", f"{few}: too few to normalise by, so that answers are worse than without", remedy)
    else:
        report.add("note", f"{samples} samples in a batch: few to normalise by", remedy)
