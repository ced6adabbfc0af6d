"""Streams of anything: texts, pairs of inputs, images with label maps."""

import numpy as np
import pytest
import torch

from tent.data import Images, Preprocess, Stream
from tent.data.order import SortedByClass, Stored
from tent.data.samples import Samples


def texts(n: int = 5, length: int = 3) -> list[dict[str, torch.Tensor]]:
    return [
        {"input_ids": torch.full((length,), i), "attention_mask": torch.ones(length), "labels": torch.tensor(i % 2)}
        for i in range(n)
    ]


def test_a_list_of_dicts_makes_batches_of_dicts():
    stream = Stream(texts(), 2, Stored())
    batches = list(stream)
    assert [sorted(batch.inputs) for batch in batches] == [["attention_mask", "input_ids"]] * 3
    assert batches[1].inputs["input_ids"].tolist() == [[2, 2, 2], [3, 3, 3]]
    assert [batch.labels.tolist() for batch in batches] == [[0, 1], [0, 1], [0]]
    assert {batch.domain for batch in batches} == {"samples"}
    assert (stream.total, stream.labelled, stream.where(4)) == (5, True, "samples[4]")
    assert stream.protocol == "samples: 5 samples, in the order stored, batches of 2"


def test_pairs_of_an_image_and_its_label_map():
    pairs = [(torch.full((3, 4, 4), float(i)), torch.full((4, 4), i)) for i in range(3)]
    x, y, _ = next(iter(Stream(Samples(pairs, "streets", classes=3), 3, Stored())))
    assert x.shape == (3, 3, 4, 4)
    assert y.shape == (3, 4, 4)
    assert torch.equal(x[:, 0].long(), y)
    with pytest.raises(ValueError, match="streets: an order by class needs one label a sample"):
        Stream(Samples(pairs, "streets"), 3, SortedByClass())


def test_images_whose_answers_are_label_maps():
    class Streets(Images):
        def __len__(self):
            return 4

        @property
        def labelled(self):
            return True

        def fetch(self, indices, each=None):
            images = [np.full((2, 2, 3), i, dtype=np.uint8) for i in indices]
            return np.stack(images) if each is None else [each(image) for image in images]

        def targets(self, indices):
            return np.stack([np.full((2, 2), i, dtype=np.int64) for i in indices])

    for x, y, _ in Stream(Streets("streets", None, 4), 2):
        assert y.shape == (2, 2, 2)
        assert torch.equal((x[:, 0] * 255).round().long(), y)
    with pytest.raises(ValueError, match="streets: images would be cropped and their label maps not"):
        next(iter(Stream(Streets("streets", None, 4), 2, preprocess=Preprocess(crop=1))))


def test_two_inputs_without_and_with_a_label():
    inputs, labels, _ = next(iter(Stream([((torch.ones(2), torch.zeros(3)), 1)] * 2, 2)))
    assert isinstance(inputs, tuple)
    assert [tuple(tensor.shape) for tensor in inputs] == [(2, 2), (2, 3)]
    assert labels.tolist() == [1, 1]
    assert next(iter(Stream([torch.ones(2)] * 2, 2))).labels is None
    with pytest.raises(ValueError, match="a sample of 3 parts"):
        next(iter(Stream([(torch.ones(2),) * 3] * 2, 2)))


def test_an_order_by_class_reads_the_labels_of_samples():
    batches = list(Stream(texts(6), 3, SortedByClass()))
    assert [batch.labels.tolist() for batch in batches] == [[0, 0, 0], [1, 1, 1]]

    class Unread:
        targets = (1, 0, 1, 0)

        def __len__(self):
            return 4

        def __getitem__(self, i):
            pytest.fail("a sample was read for its label")

    assert Stream(Samples(Unread()), 2, SortedByClass()).indices.tolist()[2:] in ([0, 2], [2, 0])


def test_samples_of_several_lengths_need_a_collate_function():
    uneven = [{"input_ids": torch.ones(n), "labels": 0} for n in (2, 3)]
    with pytest.raises(ValueError, match=r"samples do not fit into one batch .* a collate function that pads"):
        list(Stream(uneven, 2))

    def pad(samples):
        ids = torch.nn.utils.rnn.pad_sequence([each["input_ids"] for each in samples], batch_first=True)
        return {"input_ids": ids, "labels": [each["labels"] for each in samples]}

    inputs, labels, _ = next(iter(Stream(Samples(uneven, collate=pad), 2)))
    assert inputs["input_ids"].shape == (2, 3)
    assert labels.tolist() == [0, 0]


def test_domains_of_dicts_mix_in_a_batch():
    a, b = Stream(Samples(texts(8), "a"), 4), Stream(Samples(texts(8), "b"), 4)
    mixed = list(Stream.mixed([a, b], seed=1))
    assert [len(batch.labels) for batch in mixed] == [4] * 4
    for batch in mixed:
        assert torch.equal(batch.inputs["input_ids"][:, 0] % 2, batch.labels)
    ids = sorted(i for batch in mixed for i in batch.inputs["input_ids"][:, 0].tolist())
    assert ids == sorted([*range(8)] * 2)


def test_the_hash_is_of_what_the_samples_hold():
    one, same, other = (Samples(texts()), Samples(texts()), Samples(texts(length=4)))
    assert one.sha256 == same.sha256 != other.sha256
    assert Stream(one).sha256 == (one.sha256,)


def test_samples_come_prepared():
    with pytest.raises(ValueError, match="preprocess is for images"):
        Stream(texts(), 2, preprocess=Preprocess())
