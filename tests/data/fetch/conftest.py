"""Sets as they were published, but on this machine."""

import dataclasses
import hashlib
from collections.abc import Callable

import pytest

from tent.data import known_sets
from tent.data.sets import catalog
from tent.data.sets.published import Set


@pytest.fixture
def publish(server, monkeypatch) -> Callable[..., Set]:
    """Put a set's files on the server in place of the published ones, under their own names and with their own sums."""

    def put(name, files, gives=None, **changes):
        about = known_sets()[name]
        kept = [file for file in about.files if file.name in files]
        assert len(kept) == len(files)
        for file in kept:
            server.files[file.name] = files[file.name]
        new = tuple(
            dataclasses.replace(
                file,
                url=f"{server.url}/{file.name}",
                bytes=len(files[file.name]),
                md5=hashlib.md5(files[file.name]).hexdigest(),
                sha256=None,
                gives=gives or file.gives,
            )
            for file in kept
        )
        changed = dataclasses.replace(about, files=new, **changes)
        monkeypatch.setitem(catalog.SETS, name, changed)
        return changed

    return put
