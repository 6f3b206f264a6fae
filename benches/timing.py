"""Commands on trees of transcripts, timed in turn."""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

MEGABYTE = 10**6


@dataclass(frozen=True)
class Tree:
    """A folder of transcripts in the client's layout, below `projects`."""

    name: str
    folder: Path

    @property
    def projects(self) -> Path:
        return self.folder / "projects"

    @property
    def home(self) -> Path:
        """The home folder of whoever reads the tree. What tools leave in it is not in the tree."""
        return self.folder.parent / "homes" / self.name

    @property
    def configuration(self) -> Path:
        """The tree as the home's `.claude`, as some tools look nowhere else. CLAUDE_CONFIG_DIR is
        the same path, as some tools look in both and read twice what has two names."""
        return self.home / ".claude"

    def make_home(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        self.configuration.unlink(missing_ok=True)
        self.configuration.symlink_to(self.folder, target_is_directory=True)

    def megabytes(self) -> float:
        return sum(file.stat().st_size for file in self.projects.rglob("*.jsonl")) / MEGABYTE

    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.configuration),
            "TZ": "UTC",
            "CACHESIM_NO_CONFIG": "1",
        }


@dataclass(frozen=True)
class Command:
    """Something to time."""

    label: str
    arguments: tuple[str, ...]
    tree: Tree
    proof: str = "[1-9]"
    index: str = ""


@dataclass(frozen=True)
class Run:
    """What one run took, descendants included."""

    seconds: float
    cpu_seconds: float
    peak_mib: float


Runs = dict[Command, list[Run]]


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def run(command: Command, output) -> Run:
    """Runs a command once, with nothing in its environment but what it needs."""
    if command.index:
        shutil.rmtree(command.tree.home / command.index, ignore_errors=True)
    start = time.perf_counter()
    process = subprocess.Popen(
        command.arguments,
        env=command.tree.environment(),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def warm_up(command: Command) -> bool:
    """Runs a command for the first time; whether its output shows that it read the tree. Little of
    the output is read, as the peak of this script is the least that can be measured."""
    command.tree.make_home()
    with tempfile.TemporaryFile() as output:
        run(command, output)
        output.seek(0)
        beginning = output.read(2**20).decode(errors="replace")
    answered = re.search(command.proof, beginning) is not None
    if not answered:
        say(f"left out: {command.label} did not read {command.tree.name}")
    return answered


def measure(commands: list[Command], rounds: int) -> Runs:
    """Runs of all commands that answer, in turn."""
    runs: Runs = {command: [] for command in commands if warm_up(command)}
    for number in range(rounds):
        say(f"round {number + 1} of {rounds}")
        for command, earlier in runs.items():
            earlier.append(run(command, subprocess.DEVNULL))
    return runs


def median_seconds(runs: list[Run]) -> float:
    return statistics.median(run.seconds for run in runs)


def peak(runs: list[Run]) -> str:
    return f"{max(run.peak_mib for run in runs):.0f}"


def paired(runs: list[Run] | None, base: list[Run] | None) -> str:
    """The median over rounds of how many times as long one command took as another."""
    if not runs or not base:
        return "–"
    return f"{statistics.median(a.seconds / b.seconds for a, b in zip(runs, base)):.2f}"
