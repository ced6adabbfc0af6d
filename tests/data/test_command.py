"""`tent data`, as a user types it."""

import dataclasses
import hashlib
import sys
import types

import made
import numpy as np
import pytest

from tent.cli import app as cli
from tent.data import load
from tent.data.sets import catalog


@pytest.fixture
def tent_(capsys, monkeypatch):
    """Run the command and return its exit code, what it said and what it complained of."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            cli.run(arguments)
        said = capsys.readouterr()
        return ended.value.code, said.out, said.err

    return run


def complaint(err):
    """The one line of an error, below whatever a progress bar left."""
    lines = [line for line in err.splitlines() if line.startswith("tent: ")]
    assert len(lines) == 1
    assert err.rstrip().endswith(lines[0])
    return lines[0]


def test_it_lists_what_is_known_and_what_is_there(root, tent_):
    made.arrays(root / "mnist", "test", made.pixels(500, 28, 28, 1), np.zeros(500, dtype=np.int64))
    code, out, _ = tent_("data")
    assert code == 0
    for name in catalog.known_sets():
        assert name in out
    (row,) = (line for line in out.splitlines() if " mnist " in line)
    assert "test" in row
    assert "396.3 kB" in row
    assert "11.6 MB" in row


def test_types_are_counted(root, tent_):
    (root / "cifar10-c").mkdir()
    np.save(root / "cifar10-c" / "labels.npy", np.zeros(5))
    for type_ in ("fog", "snow", "frost", "contrast"):
        np.save(root / "cifar10-c" / f"{type_}.npy", np.zeros(5))
    (root / "cifar10-c" / "fog.made.json").write_text("{}")
    assert "4 types, 1 of them made here" in tent_("data")[1]


@pytest.mark.parametrize("arguments", [["data"], ["data", "get"], ["data", "make"]])
def test_help_is_complete(tent_, arguments):
    code, out, _ = tent_(*arguments, "--help")
    assert code == 0
    assert "--root" in out
    if arguments == ["data"]:
        assert "get" in out
        assert "make" in out


def test_get_brings_a_set_and_says_where(root, server, tent_, monkeypatch):
    files = {
        "usps.bz2": made.usps(made.pixels(3, 16, 16), np.arange(3)),
        "usps.t.bz2": made.usps(made.pixels(2, 16, 16), np.arange(2)),
    }
    server.files.update(files)
    about = catalog.get_set("usps")
    here = [
        dataclasses.replace(file, url=f"{server.url}/{file.name}", md5=hashlib.md5(files[file.name]).hexdigest())
        for file in about.files
    ]
    monkeypatch.setitem(catalog.SETS, "usps", dataclasses.replace(about, files=tuple(here)))
    code, out, err = tent_("data", "get", "usps", "--only", "test")
    assert (code, out) == (0, f"usps: test in {root / 'usps'}\n")
    assert "fetching usps.t.bz2" in err
    assert "100%" in err
    assert load("usps").labels.tolist() == [0, 1]
    code, out, _ = tent_("data", "get", "usps", "--keep")
    assert (code, "kept in" in out) == (0, True)
    assert tent_("data", "get", "usps")[1] == f"usps: already there, in {root / 'usps'}\n"


def test_get_without_a_network_is_one_line_that_says_what_to_put_where(root, dead_url, tent_, monkeypatch):
    monkeypatch.setattr("tent.data.fetch.download.ATTEMPTS", 1)
    about = catalog.get_set("usps")
    dead = tuple(dataclasses.replace(file, url=f"{dead_url}/{file.name}") for file in about.files)
    monkeypatch.setitem(catalog.SETS, "usps", dataclasses.replace(about, files=dead))
    code, _, err = tent_("data", "get", "usps")
    assert code == 2
    line = complaint(err)
    assert f"Put into {root / 'downloads' / 'usps'}: usps.bz2 from {dead_url}/usps.bz2; usps.t.bz2" in line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["get", "cifar11"], "no set is called 'cifar11'"),
        (["get", "mnist", "--only", "all"], "mnist has no 'all'"),
        (["make", "mnist"], "mnist is not made here"),
        (["make", "cifar10-c", "--severities", "five"], "--severities 'five'"),
        (["make", "cifar10-c", "--severities", "7"], "severity 7"),
        (["make", "cifar10-c"], "tent data get cifar10"),
        (["--root", "x", "get", "mnist"], "--root x belongs after the command"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(root, tent_, fake, arguments, said):
    code, _, err = tent_("data", *arguments)
    assert code == 2
    assert said in complaint(err)


@pytest.fixture
def fake(monkeypatch):
    module = types.ModuleType("tent.data.corruptions")
    module.BENCHMARK, module.HELD_OUT = ("fog",), ("spatter",)
    module.corrupt = lambda images, type, severity, **_: images + np.uint8(severity)
    monkeypatch.setitem(sys.modules, "tent.data.corruptions", module)


def test_make_makes_and_then_has_nothing_left_to_do(root, tent_, fake):
    images = made.pixels(10, 4, 4, 3)
    made.arrays(root / "cifar10", "test", images, np.zeros(10, dtype=np.int64))
    arguments = ("data", "make", "cifar10-c", "--types", "fog, spatter", "--severities", "2,5", "--workers", "1")
    code, out, _ = tent_(*arguments)
    assert code == 0
    assert out.startswith("cifar10-c: made fog_2.npy, fog_5.npy, spatter_2.npy, spatter_5.npy, in ")
    assert np.array_equal(load("cifar10-c", corruption="fog").fetch(np.arange(10)), images + np.uint8(5))
    assert tent_(*arguments)[1].startswith("cifar10-c: already there")
