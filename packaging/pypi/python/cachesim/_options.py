"""The options that `ledger`, `breaks` and `compare` have in common, as arguments of the program."""

from __future__ import annotations

import datetime
import inspect
import os
from typing import Any, Callable, Dict, Iterable, List, Sequence, TypedDict, TypeVar, Union

from ._program import Argument

Paths = Union[Argument, Iterable[Argument], None]
Names = Union[Argument, Iterable[Argument]]
Time = Union[str, datetime.date, datetime.datetime]


class Options(TypedDict, total=False):
    """Keyword arguments of `ledger`, `breaks` and `compare`. `cachesim analyze --help` explains each."""

    since: Time
    """From this time on: "7d", "2026-08-01", a date, or a datetime with a time zone."""
    until: Time
    """Until this time: through the end of a day, before a moment."""
    timezone: str
    """The time zone in which days begin, such as "Europe/Berlin"; UTC by default."""
    source: Names
    """Only sessions of these programs: "claude", "codex" and so on."""
    session: Names
    """Only these sessions, by their ids or how these begin."""
    project: str
    """Only this project."""
    model: str
    """Only requests to this model: a part of its name."""
    branch: str
    """Only requests sent on this branch of the project's repository."""
    agent: str
    """Only this agent: "main", a type of sub-agents or an id."""
    live: bool
    """Without what was rewound, edited or retried."""
    tokens: str
    """How sizes are counted where no usage tells them: "exact", "estimated", "bytes:4"."""
    prices: Argument
    """A file of prices that are laid over the built-in ones."""
    platform: str
    """Where the models were called: "global", "regional", "government"."""
    domains: Argument
    """Each domain by itself: "depth:1", or a file that says which path is in which domain."""
    root: Argument
    """The folder from which relative paths lead on."""
    strict: bool
    """Damaged input raises `CachesimError` with code 4."""
    config: Union[Argument, bool]
    """The project's configuration; False reads no configuration, neither the project's nor the user's."""
    options: Sequence[str]
    """Any further options of the program, as they are: ["--ttl-grace", "30"]."""


Function = TypeVar("Function", bound=Callable[..., Any])


def with_options(function: Function) -> Function:
    """Has a notebook complete the options by name, and `help` list them, in place of `**options`."""
    signature = inspect.signature(function)
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    common = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
        for name in Options.__annotations__
    ]
    function.__signature__ = signature.replace(parameters=own + common)  # type: ignore[attr-defined]
    return function


def many(value: Names) -> List[str]:
    """One value or several as a list of texts."""
    if isinstance(value, (str, os.PathLike)):
        return [os.fspath(value)]
    return [os.fspath(one) for one in value]


def _time(name: str, value: Time) -> str:
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        raise ValueError(f"{name}: {value} has no time zone")
    return value if isinstance(value, str) else value.isoformat()


def _option(name: str, value: Any) -> List[str]:
    flag = "--" + name.replace("_", "-")
    if name == "options":
        if isinstance(value, str):
            raise TypeError("options is a list, such as ['--live']")
        return list(value)
    if name == "config" and isinstance(value, bool):
        return [] if value else ["--no-config"]
    if name in ("since", "until"):
        return [f"{flag}={_time(name, value)}"]
    if name in ("live", "strict"):
        return [flag] if value else []
    if name == "session":
        return [f"{flag}={one}" for one in many(value)]
    return [f"{flag}={','.join(many(value))}"]


def arguments(command: str, own: Iterable[str], paths: Paths, options: Dict[str, Any]) -> List[Argument]:
    """The arguments of a run: its own, then the common ones. None stands for an option that is not given."""
    unknown = sorted(options.keys() - Options.__annotations__.keys())
    if unknown:
        raise TypeError(f"there is no option {', '.join(unknown)}: give the program's own as options=[…]")
    args: List[Argument] = [command, *own]
    for name, value in options.items():
        if value is not None:
            args += _option(name, value)
    if paths is not None:
        files = many(paths)
        if not files:
            raise ValueError("paths is empty; None reads what all agents keep at home")
        # What follows is no option, whatever it begins with.
        args += ["--", *files]
    return args
