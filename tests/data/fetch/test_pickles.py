import io
import os
import pickle
import pickletools

import made
import numpy as np
import pytest

from tent.data.fetch.pickles import read_pickle

EVIL_MARK = "TENT_TEST_EVIL"


def test_a_batch_as_python_2_wrote_it():
    data = made.pixels(3, 3072)
    raw = made.python2_batch(data, [1, 2, 3])
    pickletools.dis(raw, out=io.StringIO())  # a stream of opcodes that python agrees with
    batch = read_pickle(raw, "x")
    assert np.array_equal(batch["data"], data)
    assert batch["labels"] == [1, 2, 3]


def test_the_made_batch_is_what_python_itself_reads():
    data = made.pixels(3, 3072)
    theirs = pickle.loads(made.python2_batch(data, [1, 2, 3]), encoding="latin1")
    assert np.array_equal(theirs["data"], data)


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize(
    "array", [np.arange(6).reshape(2, 3), np.asfortranarray(made.pixels(4, 5)), np.zeros(3, np.float32)]
)
def test_plain_data_of_every_kind(protocol, array):
    data = {"a": array, "b": [1, 2.5, None, True, b"raw", "text"], "c": {"d": (1, 2)}}
    got = read_pickle(pickle.dumps(data, protocol=protocol), "x")
    assert np.array_equal(got["a"], array)
    assert got["a"].dtype == array.dtype
    assert {**got, "a": 0} == {**data, "a": 0}


class Evil:
    def __reduce__(self):
        return (exec, (f"import os; os.environ['{EVIL_MARK}'] = 'ran'",))


def opcode(module, name, argument):
    return f"c{module}\n{name}\n(S'{argument}'\ntR.".encode()


@pytest.mark.parametrize(
    "raw",
    [
        pickle.dumps(Evil()),
        pickle.dumps({"data": [1, Evil()]}, protocol=2),
        opcode("os", "system", f"touch {EVIL_MARK}"),
        opcode("builtins", "eval", "1"),
        opcode("__builtin__", "eval", "1"),
        opcode("numpy.core.multiarray", "scalar", "1"),
        opcode("numpy", "load", "x"),
        opcode("numpy", "core.multiarray._reconstruct", "x"),
        opcode("functools", "partial", "x"),
        b"\x80\x02Pname\n.",
        pickle.dumps(np.array([{}, []], dtype=object), protocol=2),
        pickle.dumps(np.zeros(2, dtype=[("a", "u1"), ("b", "f8")]), protocol=2),
        pickle.dumps(np.zeros(2, dtype=">i4"), protocol=2),
        pickle.dumps({1, 2}, protocol=4),
        pickle.dumps({3: "a key that is a number"}),
        pickle.dumps(1j),
    ],
    ids=made.length,
)
def test_what_asks_for_more_is_refused_and_never_run(raw, monkeypatch, tmp_path):
    monkeypatch.delenv(EVIL_MARK, raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="batch_1: not a pickle of plain arrays"):
        read_pickle(raw, "batch_1")
    assert EVIL_MARK not in os.environ
    assert list(tmp_path.iterdir()) == []


def test_the_evil_pickle_would_have_run(monkeypatch):
    monkeypatch.setenv(EVIL_MARK, "")
    pickle.loads(pickle.dumps(Evil()))
    assert os.environ[EVIL_MARK] == "ran"


@pytest.mark.parametrize("length", [0, 1, 20, 200, -1])
def test_a_truncated_pickle_is_refused(length):
    with pytest.raises(ValueError, match="not a pickle of plain arrays"):
        read_pickle(made.python2_batch(made.pixels(3, 3072), [1, 2, 3])[:length], "x")


def test_an_array_with_fewer_bytes_than_its_shape_is_refused():
    raw = pickle.dumps(made.pixels(4, 4), protocol=2).replace(b"K\x04K\x04\x86", b"K\x04K\x7f\x86")
    with pytest.raises(ValueError, match="not a pickle of plain arrays"):
        read_pickle(raw, "x")


def test_endless_nesting_is_refused():
    with pytest.raises(ValueError, match="x: "):
        read_pickle(b"\x80\x02" + b"(" * 50 + b"]" * 100_000 + b"a" * 99_999 + b".", "x")
