"""One command from a name to a set on disk: take or fetch its files, check them, lay them out, rename into place."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from tent.data.data_folder import lock_set
from tent.data.fetch.download import download, part_path, verify
from tent.data.sets.published import File, Layout, Progress, Set, silent
from tent.files import partial_path


def get(
    known: Set, root: Path, only: Sequence[str] = (), *, progress: Progress = silent, keep: bool = False
) -> tuple[str, ...]:
    """Bring the pieces of a set that are missing, and return them; files the user put in place are used as they are.

    Args:
        only: the pieces wanted (splits, types, versions); all unless given.
        keep: leave the downloaded files where they are.
    """
    folder = known.path(root)
    if not known.files and not known.pieces_in(folder):
        raise ValueError(f"{known.name} is not fetched from here; {known.hint}, into {folder}")
    with lock_set(folder):
        wanted = known.select_pieces(only)
        missing = [piece for piece in wanted if piece not in known.pieces_in(folder)]
        files = [file for file in known.files if set(file.gives) & set(missing)]
        for gives in dict.fromkeys(file.gives for file in files):  # one archive at a time: half the disk, and resumable
            paths, fetched = _collect_files(known, files, gives, root, progress)
            lay_out(known, paths, folder, progress)
            if lost := [piece for piece in gives if piece not in known.pieces_in(folder)]:
                raise ValueError(
                    f"{known.name}: its files in {download_folder(known, root)} did not hold {', '.join(lost)}"
                )
            for path in () if keep else fetched:
                path.unlink()
        return tuple(missing)


def download_folder(known: Set, root: Path) -> Path:
    """Return the folder that published files are fetched to, or put in by hand."""
    return root / "downloads" / known.folder


def lay_out(known: Set, paths: dict[str, Path], folder: Path, progress: Progress) -> None:
    """Lay published files out beside the set's folder, and move each piece in once all are whole."""
    if known.layout is None:
        raise ValueError(f"{known.name} is not laid out from files")
    making = partial_path(folder)
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    try:
        _write_layout(known, known.layout, paths, making, progress)
        _move_in(known, making, folder)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _write_layout(known: Set, layout: Layout, paths: dict[str, Path], making: Path, progress: Progress) -> None:
    try:
        layout(paths, making, progress)
    except (AttributeError, TypeError, LookupError, OverflowError) as error:  # other types inside than were published
        names = ", ".join(str(path) for path in paths.values())
        raise ValueError(f"{names}: not {known.title} as published ({error}); delete it and fetch it again") from error


def _collect_files(
    known: Set, files: Sequence[File], gives: tuple[str, ...], root: Path, progress: Progress
) -> tuple[dict[str, Path], list[Path]]:
    now = [file for file in files if file.gives == gives]
    paths = {file.name: download_folder(known, root) / file.name for file in now}
    fetched: list[Path] = []
    for file in now:
        path = paths[file.name]
        if path.is_file():
            try:
                verify(file, path, progress)
            except ValueError as error:
                raise ValueError(f"{error}; delete it, or put the published file there") from None
            continue
        try:
            download(file, path, progress)
        except OSError as error:
            raise OSError(f"{error}. {manual_steps(known, files, root)}") from error
        fetched.append(path)
    return paths, fetched


def manual_steps(known: Set, files: Sequence[File], root: Path) -> str:
    """Say which files are still to be put where, for whoever has them or another way to them."""
    place, there = download_folder(known, root), known.pieces_in(known.path(root))
    lacking = [file for file in files if not (place / file.name).is_file() and not set(file.gives) <= set(there)]
    named = "; ".join(f"{file.name} from {file.url}" if file.url else file.name for file in lacking)
    terms = f" ({known.terms})" if known.terms else ""
    begun = " What has arrived is kept." if any(part_path(place / file.name).is_file() for file in lacking) else ""
    return f"Put into {place}: {named}{terms}; then run this again.{begun}"


def _move_in(known: Set, making: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    whole = known.pieces_in(folder)
    for entry in sorted(making.iterdir()):
        target = folder / entry.name
        if target.is_dir():
            if not any(piece == entry.name or f"-{piece}-" in entry.name for piece in whole):
                raise FileExistsError(f"{target} is there but not whole; move it away, then run this again")
            continue  # this piece was whole before; only its neighbours were missing
        target.with_suffix(".made.json").unlink(missing_ok=True)  # what is published takes the place of what was made
        os.replace(entry, target)
