"""The stream loop against plain loops: online, offline, resets, domains, labels, the clock, and what is cached."""

import time
from typing import Any

import pytest
import torch
from torch import nn

import tent
from tent.data import Stream
from tent.data.order import Correlated, Shuffled, Stored
from tent.data.samples import Samples
from tent.evaluate import evaluate, protocol
from tent.tasks import Classification, Segmentation, TextClassification
from tent.tasks.oracle import Oracle

LR = 0.05


def net(classes: int = 4) -> nn.Module:
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(288, classes)]
    return nn.Sequential(*layers).eval()


def stream(name: str = "a", n: int = 30, batch_size: int = 8, shift: float = 0.0) -> Stream:
    generator = torch.Generator().manual_seed(len(name) + n)
    samples = [(torch.randn(3, 8, 8, generator=generator) + shift, i % 4) for i in range(n)]
    return Stream(Samples(samples, name, classes=4), batch_size)


def adapted(**options: Any) -> tent.Adapted:
    return tent.adapt(net(), lr=LR, **options)


def error(answers: list[torch.Tensor], labels: list[torch.Tensor]) -> float:
    return float((torch.cat(answers).argmax(1) != torch.cat(labels)).double().mean())


class Outputs:
    """What `on_batch` is called with."""

    def __init__(self) -> None:
        self.logits: list[torch.Tensor] = []
        self.labels: list[torch.Tensor] = []
        self.domains: list[str] = []

    def __call__(self, batch: Any, output: torch.Tensor) -> None:
        self.logits.append(output)
        self.labels.append(batch.labels)
        self.domains.append(batch.domain)


class Counting(tent.Method):
    """Moves nothing, and keeps the number of batches in its memory."""

    select = staticmethod(tent.select.nothing)

    def step(self, seen: Any, state: Any) -> None:
        state.tensors["batches"] = state.tensors.get("batches", torch.zeros(())) + 1


def same(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    return len(one) == len(other) and all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_online_is_a_loop_of_calls() -> None:
    data, by_hand, seen = stream(), adapted(), Outputs()
    answers = [by_hand(x) for x, _, _ in data]
    found = evaluate(adapted(), data, Classification(), on_batch=seen)
    assert same(seen.logits, answers)
    labels = [y for _, y, _ in data]
    assert found.metrics["error"] == error(answers, labels)
    errors = [error([z], [y]) for z, y in zip(answers, labels, strict=True)]
    assert found.by_batch["error"] == [round(each, 5) for each in errors]
    assert found.by_domain == {"a": found.metrics}
    assert found.samples == 30
    assert found.counts == {"forwards": 30, "backwards": 30, "updates": 4, "skipped": 0, "resets": 0}
    assert set(found.by_batch) == set(found.metrics) == set(Classification.metrics)


def test_online_passes_before_the_last_are_learnt_from() -> None:
    data, by_hand, seen = stream(), adapted(), Outputs()
    for _ in range(2):
        by_hand.fit(x for x, _, _ in data)
    answers = [by_hand(x) for x, _, _ in data]
    found = evaluate(adapted(), data, Classification(), epochs=3, on_batch=seen)
    assert same(seen.logits, answers)
    assert found.counts["updates"] == 12


def test_offline_learns_first_and_then_answers_without_learning() -> None:
    data, by_hand, seen = stream(), adapted(), Outputs()
    by_hand.fit([x for x, _, _ in data], epochs=2)
    with by_hand.paused():
        answers = [by_hand(x) for x, _, _ in data]
    run = adapted()
    found = evaluate(run, data, Classification(), epochs=2, offline=True, on_batch=seen)
    assert same(seen.logits, answers)
    assert (found.counts["updates"], run.updates) == (8, 8)
    assert (found.counts["forwards"], found.counts["backwards"]) == (90, 60)


def test_learning_from_one_stream_and_answering_on_another() -> None:
    data, other, by_hand, seen = stream(), stream("b", 24, shift=1.0), adapted(), Outputs()
    by_hand.fit([x for x, _, _ in other])
    with by_hand.paused():
        answers = [by_hand(x) for x, _, _ in data]
    run = adapted()
    found = evaluate(run, data, Classification(), fit=other, offline=True, on_batch=seen)
    assert same(seen.logits, answers)
    assert found.samples == 30
    assert protocol(run, data, fit=other, offline=True)["fitted on"] == other.protocol


def domains() -> Stream:
    return Stream.recurring([stream("a"), stream("b", 24, shift=1.0)], 2)


def test_domains_are_measured_apart_and_together() -> None:
    seen = Outputs()
    found = evaluate(adapted(), domains(), Classification(), on_batch=seen)
    for name in ("a", "b"):
        own = [i for i, domain in enumerate(seen.domains) if domain == name]
        assert found.by_domain[name]["error"] == error([seen.logits[i] for i in own], [seen.labels[i] for i in own])
    assert found.metrics["error"] == error(seen.logits, seen.labels)
    assert list(found.by_domain) == ["a", "b"]
    assert found.by_domain["a"] != found.by_domain["b"]


def test_samples_of_a_mixed_batch_are_measured_by_their_own_domain() -> None:
    mixture, seen = Stream.mixed([stream("a"), stream("b", 24, shift=1.0)], seed=2), Outputs()
    found = evaluate(adapted(), mixture, Classification(), on_batch=seen)
    names = [name for number in range(len(mixture)) for name in mixture.batch_domains(number)]
    wrong = torch.cat(seen.logits).argmax(1) != torch.cat(seen.labels)
    assert "mixed" in seen.domains
    for name, count in (("a", 30), ("b", 24)):
        own = torch.tensor([each == name for each in names])
        assert int(own.sum()) == count
        assert found.by_domain[name]["error"] == pytest.approx(float(wrong[own].double().mean()))
    assert set(found.by_domain) == {"a", "b"}
    assert found.metrics["error"] == pytest.approx(float(wrong.double().mean()))


@pytest.mark.parametrize("reset", ["never", "domain", "batch"])
def test_resets(reset: str) -> None:
    by_hand, answers, before = adapted(answers="after"), [], None
    for x, _, domain in domains():
        if reset == "batch" or (reset == "domain" and domain != before):
            by_hand.reset()
        answers.append(by_hand(x))
        before = domain
    seen = Outputs()
    found = evaluate(adapted(answers="after"), domains(), Classification(), reset=reset, on_batch=seen)
    assert same(seen.logits, answers)
    assert found.counts["resets"] == {"never": 0, "domain": 3, "batch": 14}[reset]


def test_resets_make_a_difference_and_the_first_domain_keeps_what_was_there_before() -> None:
    logits: dict[str, list[torch.Tensor]] = {}
    for reset in ("never", "domain", "batch"):
        run, seen = adapted(answers="after"), Outputs()
        run.fit([torch.randn(8, 3, 8, 8, generator=torch.Generator().manual_seed(9))])
        evaluate(run, domains(), reset=reset, on_batch=seen)
        logits[reset] = seen.logits
    assert not same(logits["never"], logits["domain"])
    assert not same(logits["domain"], logits["batch"])
    assert torch.equal(logits["never"][0], logits["domain"][0])
    assert not torch.equal(logits["never"][0], logits["batch"][0])


def test_a_plain_model_is_only_run_and_left_as_it_was() -> None:
    model, data, seen = net(), stream(), Outputs()
    expected = [model(x).detach() for x, _, _ in data]
    model.train()
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    found = evaluate(model, data, Classification(), on_batch=seen)
    assert same(seen.logits, expected)
    assert found.metrics["error"] == error(expected, [y for _, y, _ in data])
    assert all(module.training for module in model.modules())
    assert all(torch.equal(tensor, state[name]) for name, tensor in model.state_dict().items())


def test_without_a_task_nothing_is_measured_and_labels_are_not_needed() -> None:
    unlabelled, seen = Stream([torch.randn(3, 8, 8) for _ in range(10)], 5), []
    found = evaluate(adapted(), unlabelled, on_batch=lambda batch, output: seen.append(len(output)))
    assert (found.metrics, found.by_domain, found.by_batch) == ({}, {}, {})
    assert (found.samples, seen) == (10, [5, 5])
    with pytest.raises(ValueError, match="samples: its labels are not known"):
        evaluate(adapted(), unlabelled, Classification())


def test_the_clock_runs_inside_the_models_calls_alone() -> None:
    class Slow(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            time.sleep(0.02)
            return self.net(x)

    def wait(batch: Any, output: Any) -> None:
        time.sleep(0.5)

    data = stream(n=16)
    assert 0.04 <= evaluate(Slow(), data, Classification(), on_batch=wait).seconds < 1.0
    twice = evaluate(tent.adapt(Slow()), data, Classification(), epochs=2, offline=True, on_batch=wait).seconds
    assert 0.12 <= twice < 1.0


def test_progress_is_told_of_every_pass() -> None:
    told: list[tuple[str, int]] = []

    def track(batches: Any, what: str, count: int) -> Any:
        told.append((what, count))
        return batches

    evaluate(adapted(), stream(), Classification(), track=track, epochs=2)
    evaluate(adapted(), stream(), Classification(), track=track, epochs=2, offline=True)
    passes = [("learning, pass 1 of 1", 4), ("adapting", 4)]
    assert told == [*passes, ("learning, pass 1 of 2", 4), ("learning, pass 2 of 2", 4), ("answering", 4)]


def test_what_was_learnt_is_remembered_and_recalled() -> None:
    states: list[tuple[dict[str, torch.Tensor], float]] = []

    def remember(run: tent.Adapted, seconds: float) -> None:
        states.append((run.state_dict(), seconds))

    def recall(run: tent.Adapted) -> float:
        run.load_state_dict(states[0][0])
        return 1000.0

    data, seen, again = stream(), Outputs(), Outputs()
    plain = evaluate(adapted(), data, Classification(), offline=True, on_batch=seen, remember=remember)
    found = evaluate(adapted(), data, Classification(), offline=True, on_batch=again, recall=recall, remember=remember)
    assert same(seen.logits, again.logits)
    assert len(states) == 1  # what was recalled is not remembered anew
    assert states[0][1] < plain.seconds < 1000 < found.seconds
    evaluate(adapted(), data, Classification(), recall=recall, remember=remember)  # online learns while it answers
    assert len(states) == 2
    assert all(torch.equal(states[0][0][name], tensor) for name, tensor in states[1][0].items())
    missed = evaluate(adapted(), data, Classification(), offline=True, recall=lambda run: None)
    assert missed.metrics == plain.metrics
    assert missed.counts["updates"] == 4


def test_texts_and_maps_go_through_the_same_loop() -> None:
    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.norm, self.head = nn.Embedding(9, 8), nn.LayerNorm(8), nn.Linear(8, 3)

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"logits": self.head(self.norm(self.words(input_ids))).movedim(-1, 1)}

    torch.manual_seed(0)
    texts = [
        {
            "input_ids": torch.randint(9, (5,)),
            "attention_mask": torch.tensor([1, 1, 1, 1, i % 2]),
            "labels": [i % 3] * 5,
        }
        for i in range(12)
    ]
    texts = [{**text, "labels": torch.tensor(text["labels"])} for text in texts]
    run = tent.adapt(Tagger())
    found = evaluate(run, Stream(texts, 4), TextClassification(3), epochs=2, offline=True)
    assert run.updates == 3 * 2
    assert 0 <= found.metrics["error"] <= 1
    languages = [Stream(Samples(texts, name), 4) for name in ("one", "other")]
    assert set(evaluate(run, Stream.mixed(languages), TextClassification(3)).by_domain) == {"one", "other"}
    maps = [(torch.randn(3, 8, 8), torch.randint(4, (8, 8))) for _ in range(6)]
    segmenter = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1, stride=2), nn.BatchNorm2d(4))
    seen = evaluate(tent.adapt(segmenter), Stream(maps, 2), Segmentation(4))
    assert set(seen.by_batch) == set(Segmentation.metrics)
    assert {"iou_0", "iou_3"} < set(seen.metrics)
    assert len(seen.by_batch["mean_iou"]) == 3


def test_a_models_own_way_to_its_logits_is_followed() -> None:
    class Tuple(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net()

        def forward(self, x: torch.Tensor) -> tuple[str, torch.Tensor]:
            return "odd", self.net(x)

    found = evaluate(tent.adapt(Tuple(), lr=LR, logits=lambda output: output[1]), stream(), Classification())
    assert found.metrics == evaluate(adapted(), stream(), Classification()).metrics


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reset": "sometimes"}, "reset 'sometimes': choose from never, domain, batch"),
        ({"epochs": 0}, "epochs 0: give 1 or more"),
        ({"offline": True, "reset": "domain"}, "reset 'domain' with offline"),
        ({"fit": stream("b")}, "fit is never learnt from in one online pass; pass offline=True, or epochs=2 or more"),
        ({"reset": "batch"}, "episodic with one step and answers before the update would never show the update"),
    ],
)
def test_what_cannot_be_run_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        evaluate(adapted(), stream(), Classification(), **options)


def test_a_reset_before_every_batch_is_run_where_answers_show_the_update_or_nothing_moves() -> None:
    for run in (adapted(answers="after"), adapted(steps=2), tent.adapt(net(), tent.BN()), net()):
        assert evaluate(run, stream(), Classification(), reset="batch").samples == 30


def test_online_passes_before_the_last_may_learn_from_another_stream() -> None:
    found = evaluate(adapted(), stream(), Classification(), fit=stream("b", 24, shift=1.0), epochs=2)
    assert found.metrics != evaluate(adapted(), stream(), Classification(), epochs=2).metrics


def test_an_episodic_adaptation_has_one_pass_online() -> None:
    run = adapted(episodic=True, answers="after")
    for options in ({"offline": True}, {"epochs": 2}):
        with pytest.raises(ValueError, match="forgets every batch"):
            evaluate(run, stream(), Classification(), **options)


def test_the_protocol_says_what_was_run() -> None:
    run, data = adapted(), stream()
    evaluate(run, data, Classification())
    words = protocol(run, data)
    assert words == {
        "data": data.protocol,
        "order": "shuffled by seed 0, the same for all methods",
        "images": "30",
        "batch": "8 images",
        "method": "Tent(objective=entropy)",
        "statistics": "Batch()",
        "moves": "16 parameters in 2 tensors",
        "when": "online: one pass",
        "reset": "before the stream, never in it",
        "answers": "before the update",
        "steps": "1 a batch",
        "precision": "float32",
        "optimizer": "Adam",
        "lr": "0.05",
        "updates": "4 batches updated on, 0 skipped",
    }


def test_the_protocol_tells_the_real_order_precision_and_resets() -> None:
    samples = Samples([(torch.randn(3, 8, 8), i % 4) for i in range(8)], "s", 4)
    run = adapted()
    for order in (Stored(), Shuffled(7), Correlated(0.5, 2)):
        assert protocol(run, Stream(samples, 4, order))["order"].startswith(order.words)
    mixed = Stream.mixed([Stream(samples, 4), Stream(samples, 4)], seed=3)
    assert protocol(run, mixed)["order"].startswith("2 domains mixed, shuffled by seed 3")
    data = Stream(samples, 4)
    assert protocol(adapted(precision="bfloat16"), data)["precision"] == "bfloat16"
    assert protocol(tent.adapt(net().double()), data)["precision"] == "float64"
    assert protocol(run, data, reset="domain")["reset"] == "before every new domain"
    assert protocol(run, data, reset="batch")["reset"] == "before every batch"
    episodic = protocol(adapted(episodic=True, answers="after", steps=2), data)
    assert (episodic["when"], episodic["reset"]) == ("episodic: every batch by itself", "before every batch")
    assert (episodic["answers"], episodic["steps"]) == ("after the update", "2 a batch")
    assert protocol(run, data, epochs=3)["when"] == "online: 3 passes, the answers of the last one are counted"
    offline = protocol(run, data, offline=True)
    assert offline["when"] == "offline: one pass of learning, then answers without learning"
    assert offline["answers"] == "after all learning, with no update between them"


def test_the_protocol_of_what_does_not_learn_and_of_what_sees_labels() -> None:
    data = stream()
    source = protocol(tent.adapt(net(), tent.Source()), data)
    assert (source["answers"], source["optimizer"], source["lr"]) == ("no update", "none", "none")
    assert "labels" not in source
    run = tent.adapt(net(), tent.BN())
    evaluate(run, data)
    assert protocol(run, data)["answers"] == "no update"
    run = tent.adapt(net(), Counting())
    evaluate(run, data)
    memory = protocol(run, data)
    assert (memory["answers"], memory["updates"]) == ("before the update", "4 batches updated on, 0 skipped")
    words = protocol(tent.adapt(net(), Oracle()), data)["labels"]
    assert words == "revealed with every batch that is updated on: a bound, not a method"


@pytest.mark.filterwarnings("ignore:tent:RuntimeWarning")
def test_skipped_batches_are_counted() -> None:
    samples = [(torch.full((3, 8, 8), torch.nan if i == 0 else float(i)), i % 4) for i in range(4)]
    run, data = adapted(), Stream(samples, 2, Stored())
    found = evaluate(run, data)
    assert (found.counts["updates"], found.counts["skipped"]) == (1, 1)
    assert protocol(run, data)["updates"] == "1 batches updated on, 1 skipped"
    assert evaluate(run, Stream(samples[2:], 2)).counts["updates"] == 1  # of this run alone


@pytest.mark.parametrize(
    ("options", "passes", "done"),
    [({}, 1, 1), ({}, 1, 4), *(({"offline": True, "epochs": 2}, 3, done) for done in (1, 4, 6, 8, 9, 12))],
)
def test_a_run_goes_on_after_the_batches_that_are_done(options: dict[str, Any], passes: int, done: int) -> None:
    data, first, whole, left = stream(), adapted(), Outputs(), {}

    def keep(number: int) -> None:
        left[number] = (first.checkpoint(), len(whole.logits))

    evaluate(first, data, on_batch=whole, after=keep, **options)
    assert list(left) == list(range(1, passes * len(data) + 1))
    checkpoint, answered = left[done]
    again, rest = adapted(), Outputs()
    again.load_checkpoint(checkpoint)
    evaluate(again, data, on_batch=rest, done=done, **options)
    assert same(whole.logits[answered:], rest.logits)
    assert again.updates == first.updates
