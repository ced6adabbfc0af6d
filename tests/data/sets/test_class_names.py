"""Folders are matched to a model's classes by name, by id or by index, and never by chance."""

import json

import pytest

from tent.data.sets.class_names import match_classes, read_class_names, same_names

TEN = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
IMAGENET = ["tench, Tinca tinca", "crane", "crane", "maillot", "maillot, tank suit", "Traffic light"]


@pytest.mark.parametrize(
    ("found", "names", "labels"),
    [
        (["cat", "dog"], TEN, [3, 5]),
        (["Dog", "CAT"], TEN, [5, 3]),
        (["traffic_light", "Tinca-tinca"], IMAGENET, [5, 0]),
        (["traffic light", "maillot", "tank suit"], IMAGENET, [5, 3, 4]),
        (["0", "7"], TEN, [0, 7]),
        (["007", "10"], [str(i) for i in range(20)], [7, 10]),
        (["3", "1"], ["one", "two", "three", "four"], [3, 1]),
        (["2"], None, [2]),
    ],
)
def test_names_and_indices(found, names, labels):
    assert match_classes(found, len(names) if names else 10, names) == labels


def test_synsets_by_the_ids_that_a_model_knows_or_all_of_them_by_rank():
    ids = ["n03000000", "n01000000", "n02000000"]
    assert match_classes(["n02000000", "n03000000"], 3, ["a", "b", "c"], ids) == [2, 0]
    assert match_classes(["n02000000", "n01000000", "n03000000"], 3, None) == [1, 0, 2]
    with pytest.raises(ValueError, match="does not say what its 4 classes are called"):
        match_classes(["n02000000", "n01000000", "n03000000"], 4, None)


@pytest.mark.parametrize(
    ("found", "names", "message"),
    [
        (
            ["cat", "wolf", "hen"],
            TEN,
            r"not among the model's 10 classes \(airplane, .* and 5 more\): wolf, hen; give",
        ),
        (["crane", "tench"], IMAGENET, "6 classes .*: crane; give --classes FILE"),
        (["1", "10"], TEN, "classes .*: 1, 10; give"),
        (["cat", "dog"], None, "does not say what its 10 classes are called, so cat, dog .* or --unlabelled$"),
        (TEN, None, "--classes sorted if it was trained on folders of these names, or --unlabelled"),
    ],
)
def test_what_does_not_match_is_named(found, names, message):
    with pytest.raises(ValueError, match=message):
        match_classes(found, len(names) if names else 10, names)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("names.txt", "cat\n dog \n\nbird\n"),
        ("list.json", json.dumps(["cat", "dog", "bird"])),
        ("id2label.json", json.dumps({"0": "cat", "2": "bird", "1": "dog"})),
        ("config.json", json.dumps({"hidden": 3, "id2label": {"1": "dog", "0": "cat", "2": "bird"}})),
    ],
)
def test_files_of_names(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert read_class_names(tmp_path / name) == ["cat", "dog", "bird"]


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.txt", " \n"), ("a.json", "{"), ("a.json", '{"1": "cat"}'), ("a.json", "[1, 2]"), ("a.json", "3")],
)
def test_files_of_no_names(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=name):
        read_class_names(tmp_path / name)


def test_the_same_names():
    assert same_names(["Cat", "guide_dog"], ["cat", "guide dog"])
    assert not same_names(["cat", "dog"], ["dog", "cat"])
    assert not same_names(None, None)
