"""Where the program is, and how it is run: never by a shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
import warnings
from pathlib import Path
from typing import Iterator, Sequence, Union

Argument = Union[str, "os.PathLike[str]"]


class CachesimError(Exception):
    """The program is missing, or it ended with an error.

    `code` is its exit code: 1 where a gate failed, 2 for wrong usage, 3 without usable input, 4 for
    damaged input under `strict`, 5 for a model without a price under `--strict-prices`, 70 for a bug.
    It is negative where a signal ended the program (-15 for SIGTERM), and 127 where there is none.
    `stderr` is what it wrote to standard error.
    """

    def __init__(self, code: int, stderr: str) -> None:
        super().__init__(code, stderr)
        self.code = code
        self.stderr = stderr

    def __str__(self) -> str:
        return self.stderr.strip() or f"cachesim ended with exit code {self.code}"


class CachesimWarning(UserWarning):
    """Damaged lines were skipped or repaired, or a model has no price, so that figures are without it."""


def _places() -> Iterator[Path]:
    """The folders into which wheels put programs: of this environment, of the user, of `pip --target`."""
    yield Path(sysconfig.get_path("scripts"))
    user = f"{os.name}_user"
    if user in sysconfig.get_scheme_names():
        yield Path(sysconfig.get_path("scripts", scheme=user))
    if "osx_framework_user" in sysconfig.get_scheme_names():
        yield Path(sysconfig.get_path("scripts", scheme="osx_framework_user"))
    yield Path(__file__).resolve().parent.parent / "bin"


def program() -> str:
    """The path of the program: where the wheel has put it, else from `PATH`."""
    name = "cachesim.exe" if os.name == "nt" else "cachesim"
    for folder in _places():
        if (folder / name).is_file():
            return str(folder / name)
    found = shutil.which("cachesim")
    if found is None:
        raise CachesimError(127, "there is no program cachesim: install the package cachesim again")
    return found


def run(args: Sequence[Argument], *, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs the program with these arguments and gives its output.

    The result has `stdout`, `stderr` and `returncode`, as `subprocess.run` gives them. Standard input is
    empty. With `check` an exit code other than 0 raises `CachesimError`.

    >>> cachesim.run(["advise", "session.jsonl", "--json"]).stdout
    """
    done = subprocess.run(
        [program(), *(os.fspath(arg) for arg in args)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    if check and done.returncode != 0:
        raise CachesimError(done.returncode, done.stderr)
    return done


def output_of(args: Sequence[Argument]) -> str:
    """What the program prints. What it says beside that becomes a warning, at the line of the user's call."""
    done = run(args)
    if done.stderr.strip():
        # This function, the one that makes tables, the one that the user calls.
        warnings.warn(done.stderr.strip(), CachesimWarning, stacklevel=4)
    return done.stdout
