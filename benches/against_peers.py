#!/usr/bin/env python3
"""Times whole `cachesim` commands against other tools and against the floor, on generated trees.

Commands alternate (A B C A B C ...) with a warm page cache, so that a ratio compares runs that
followed each other: ratios are medians over rounds, and carry over to other machines better than
seconds do. Needs ../shared, without which nothing is timed; prints a Markdown document.

    python3 benches/against_peers.py                        cachesim, the floor and ccusage, 200 MB
    python3 benches/against_peers.py --peers all            ... and the other tools
    python3 benches/against_peers.py --scaling              20 MB to 2 GB, and two unusual sessions
    python3 benches/against_peers.py --corpus               twenty strategies, on real sessions

BENCH_DIR is a folder that keeps the trees and the installed tools, 4.6 GB with those of --scaling.
Without it they are made anew, in a temporary folder.
"""

import argparse
import contextlib
import datetime
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from timing import Command, Run, Runs, Tree, measure, median_seconds, paired, peak, say

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
SESSIONS = ROOT / "benches" / "sessions.py"
GENERATOR = SHARED / "tools" / "gen_transcripts.py"
CORPUS = SHARED / "corpus"
CORES = len(os.sched_getaffinity(0))

ANALYZE = ("analyze", "--format", "json", "-q")
TWENTY_STRATEGIES = (
    "billed,replay,none,5m,1h,mixed,1h-main-5m-agents,5m-main-1h-agents,system-only,last-message,"
    "last-two,every-10,four-even,cheapest-layout,5m-pinged,1h-pinged,cheapest-pings,forked-agents,"
    "microcompact-60m,optimal"
)


@dataclass(frozen=True)
class Peer:
    """A tool that reads the same transcripts, by the version that is installed."""

    name: str
    version: str
    registry: str
    program: str
    """Where the program stands in the folder of installed tools."""
    commands: tuple[tuple[str, ...], ...]
    """Arguments; PROJECTS stands for the folder of transcripts, TOOLS for that of the tools."""
    proof: str
    """A pattern in the output that shows that the tree was read: some tools succeed without it."""
    index: str = ""
    """What the tool keeps in the home folder, removed before each run."""


TOKSCALE = (
    "const {parseLocalSources} = require(process.argv[1] + '/node_modules/@tokscale/core');"
    "const parsed = parseLocalSources({homeDir: process.env.HOME, sources: ['claude']});"
    "console.log(parsed.messages.length)"
)

# Left out: toktrack 0.1.51 and splitrail 3.7.2, which neither npm nor cargo finds by name (both are
# built from a repository, the latter with a nightly compiler); the command of tokscale, which fails
# without a network (its core parses without one, and prices nothing); claude-monitor, tokenleak,
# claude-cache-analyzer and agentsview, all at least twice as slow as ccusage on many sessions.
PEERS = (
    Peer("ccusage", "20.0.24", "npm", "node_modules/.bin/ccusage",
         (("--offline", "claude", "daily", "--json"),), r'"totalCost": [1-9]'),
    Peer("ccost", "0.6.1", "cargo", "bin/ccost", (("--per", "model"),), r"\(\$[1-9]"),
    Peer("@tokscale/core", "1.4.3", "npm", "node_modules/@tokscale/core/index.js",
         (("-e", TOKSCALE, "TOOLS"),), r"^[1-9]"),
    Peer("replay-doctor", "0.9.0", "pip", "python/bin/replay-doctor",
         (("cost", "--json"), ("replay", "--dollars", "PROJECTS")),
         r'"totalRequests": [1-9]|requests [1-9]', ".replay"),
    Peer("claude-cache-audit", "0.1.0", "pip", "python/bin/claude-cache-audit",
         (("--all", "--json"),), r'"requests": [1-9]'),
    Peer("cachemiss", "0.2.0", "pip", "python/bin/cachemiss",
         (("ledger", "--since", "all", "--json"),), r'"calls": [1-9]'),
    Peer("claude-session-diagnostics", "1.1.0", "pip", "python/bin/csd",
         (("--root", "PROJECTS", "summary"),), r"Requests +[1-9]"),
)  # fmt: skip


# Making what is timed


def install(peer: Peer, tools: Path) -> bool:
    """Whether the peer is there, installed from its registry where it was not."""
    if (tools / peer.program).exists():
        return True
    say(f"installing {peer.name} {peer.version}")
    environment = tools / "python"
    steps = {
        "npm": [["npm", "install", "--silent", "--prefix", tools, f"{peer.name}@{peer.version}"]],
        "cargo": [["cargo", "install", "--quiet", "--locked", "--root", tools,
                   "--version", peer.version, peer.name]],
        "pip": [[sys.executable, "-m", "venv", environment],
                [environment / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check",
                 f"{peer.name}=={peer.version}"]],
    }  # fmt: skip
    try:
        for step in steps[peer.registry]:
            subprocess.run(step, check=True, stdout=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        say(f"left out: {peer.name} {peer.version} could not be installed ({error})")
        return False
    return True


def build(folder: Path, program: str, profile: str = "release") -> Path:
    """Builds a package, where its own `.cargo` counts; gives the program's path."""
    target = folder / "target"
    command = ["cargo", "build", "--profile", profile, "--locked", "--quiet", "--target-dir", target]
    subprocess.run(command, cwd=folder, check=True)
    return target / profile / program


def generated(folder: Path, name: str, megabytes: int, *options: str) -> Tree:
    """A tree of the generator, made where it is missing."""
    tree = Tree(name, folder / name)
    if not tree.projects.is_dir():
        arguments = [GENERATOR, "--out", tree.folder, "--mb", str(megabytes), *options]
        write(tree, arguments)
    return tree


def unusual(folder: Path, name: str) -> Tree:
    """A tree of one session of `sessions.py`, made where it is missing."""
    tree = Tree(name, folder / name)
    session = tree.projects / "-home-dev-src-project" / "55555555-0000-4000-8000-000000000000.jsonl"
    if not session.is_file():
        session.parent.mkdir(parents=True, exist_ok=True)
        write(tree, [SESSIONS, name, session])
    return tree


def write(tree: Tree, arguments: list) -> None:
    """Runs a Python program that writes a tree; what it leaves unfinished is removed."""
    say(f"writing {tree.name}")
    try:
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    except BaseException:
        shutil.rmtree(tree.folder, ignore_errors=True)
        raise


def many(folder: Path, megabytes: int = 200, suffix: str = "") -> Tree:
    """Many sessions of half a megabyte, with files of their own for subagents."""
    sessions = str(megabytes * 2)
    return generated(folder, f"many{suffix}", megabytes, "--sessions", sessions, "--seed", "1")


def one(folder: Path, megabytes: int = 200, suffix: str = "") -> Tree:
    """One file with everything."""
    options = ("--sessions", "1", "--seed", "2", "--inline-sidechains")
    return generated(folder, f"one{suffix}", megabytes, *options)


def written(folder: Path, name: str, lines) -> Tree:
    """A tree of one session, with lines that this script makes."""
    tree = Tree(name, folder / name)
    path = tree.projects / "-home-dev-src-project" / f"{identity('5', 0)}.jsonl"
    if not path.is_file():
        say(f"writing {name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        with partial.open("w", encoding="utf-8") as file:
            file.writelines(lines)
        partial.rename(path)
    return prepare_home(tree)


# Reporting


def table(columns: list[str], rows: list[list[str]]) -> list[str]:
    """A Markdown table whose first column is text."""
    rule = ["---"] + ["--:"] * (len(columns) - 1)
    return ["| " + " | ".join(cells) + " |" for cells in [columns, rule, *rows]] + [""]


def peer_commands(peers: list[Peer], tools: Path, tree: Tree) -> list[Command]:
    """All commands of some peers on a tree."""
    commands = []
    for peer in peers:
        program = (str(tools / peer.program),)
        if program[0].endswith(".js"):
            program = ("node",)
        for arguments in peer.commands:
            paths = {"PROJECTS": str(tree.projects), "TOOLS": str(tools)}
            line = program + tuple(paths.get(argument, argument) for argument in arguments)
            shown = "parseLocalSources" if TOKSCALE in arguments else " ".join(arguments)
            commands.append(Command(f"{peer.name} {shown}", line, tree, peer.proof, peer.index))
    return commands


def own_commands(options, floor: Path, tree: Tree) -> dict[str, Command]:
    """Commands of cachesim, and the floor, by what `ratios` calls them."""

    def cachesim(*arguments: str) -> Command:
        label = " ".join(("cachesim", *arguments))
        return Command(label, (options.cachesim, *arguments), tree, r'"requests": ?[1-9]')

    def bare_parse(threads: int) -> Command:
        arguments = (str(floor), str(tree.projects), str(threads))
        return Command(f"floor, threads: {threads}", arguments, tree)

    commands = {
        "analyze": cachesim(*ANALYZE),
        "analyze alone": cachesim(*ANALYZE, "--jobs", "1"),
        "floor": bare_parse(CORES),
        "floor alone": bare_parse(1),
    }
    if options.all_commands:
        commands |= {name: cachesim(name, *ANALYZE[1:]) for name in ("breaks", "context")}
    return commands


def tree_table(runs: Runs, own: dict[str, Command], ccusage: list[Run] | None) -> list[str]:
    """All commands on one tree; each is held to the floor of as many threads as it has."""
    rows = []
    for command, its_runs in runs.items():
        alone = command in (own["analyze alone"], own["floor alone"])
        floor = runs[own["floor alone" if alone else "floor"]]
        seconds = [run.seconds for run in its_runs]
        cpu_seconds = statistics.median(run.cpu_seconds for run in its_runs)
        figures = (median_seconds(its_runs), min(seconds), max(seconds))
        rows.append([
            f"`{command.label}`",
            *(f"{figure:.3f}" for figure in figures),
            paired(its_runs, ccusage),
            paired(its_runs, floor),
            f"{cpu_seconds:.2f}",
            peak(its_runs),
        ])  # fmt: skip
    timed = ["command", "median s", "min", "max", "of ccusage", "of the floor"]
    return table([*timed, "cpu s", "peak MiB"], rows)


def ratios(runs: dict[str, list[Run]], ccusage: list[Run] | None) -> list[str]:
    """What the time of `analyze` is held to."""
    return [
        f"- cachesim / ccusage: {paired(runs['analyze'], ccusage)}",
        f"- cachesim / floor, threads: {CORES}: {paired(runs['analyze'], runs['floor'])}",
        f"- cachesim / floor, threads: 1: {paired(runs['analyze alone'], runs['floor alone'])}",
        f"- cachesim, 1 thread / {CORES}: {paired(runs['analyze alone'], runs['analyze'])}",
        f"- floor, 1 thread / {CORES}: {paired(runs['floor alone'], runs['floor'])}",
        f"- cachesim, peak MiB: {peak(runs['analyze'])}",
        "",
    ]


def compare_on(tree: Tree, options, peers: list[Peer], tools: Path, floor: Path) -> list[str]:
    """A tree's table, and the ratios that matter most."""
    own = own_commands(options, floor, tree)
    runs = measure([*own.values(), *peer_commands(peers, tools, tree)], options.runs)
    if not runs.keys() >= set(own.values()):
        sys.exit("cachesim or the floor did not run")
    ccusage = next((runs[command] for command in runs if command.label.startswith("ccusage")), None)
    by_name = {name: runs[command] for name, command in own.items()}
    title = f"## `{tree.name}`, {tree.megabytes():.1f} MB"
    return [title, "", *tree_table(runs, own, ccusage), *ratios(by_name, ccusage)]


def scaling(options, folder: Path) -> list[str]:
    """How time and memory of `analyze` grow with the input."""
    sizes = ((20, "20m"), (200, ""), (2000, "2g"))
    trees = [shape(folder, *size) for shape in (many, one) for size in sizes]
    trees += [unusual(folder, name) for name in ("long", "snapshots")]
    commands = [Command("analyze", (options.cachesim, *ANALYZE), tree) for tree in trees]
    rows = []
    for command, runs in measure(commands, options.runs).items():
        megabytes, seconds = command.tree.megabytes(), median_seconds(runs)
        per_megabyte = f"{1000 * seconds / megabytes:.2f}"
        row = [f"{megabytes:.1f}", f"{seconds:.3f}", per_megabyte, peak(runs)]
        rows.append([f"`{command.tree.name}`", *row])
    return [
        "## How `analyze` scales",
        "",
        *table(["tree", "MB", "median s", "ms per MB", "peak MiB"], rows),
        "`long` is one session of 100,000 requests; of `snapshots`, one session too, 84 % are",
        "lines of 20 KB to 2 MB that say nothing of requests.",
        "",
    ]


def twenty_strategies(options, folder: Path) -> list[str]:
    """Twenty strategies at once on real sessions, against `analyze` with its five."""
    if not CORPUS.is_dir():
        say("skipped: ../shared/corpus is not here")
        return []
    nowhere = Tree("corpus", folder / "corpus")
    five = Command("analyze", (options.cachesim, "analyze", str(CORPUS), "-q"), nowhere)
    arguments = (options.cachesim, "compare", str(CORPUS), "-q", "--strategy", TWENTY_STRATEGIES)
    twenty = Command("compare, twenty strategies", arguments, nowhere)
    runs = measure([five, twenty], options.runs)
    rows = [
        [command.label, f"{median_seconds(own):.3f}", paired(own, runs.get(five)), peak(own)]
        for command, own in runs.items()
    ]
    columns = ["corpus", "median s", "of analyze", "peak MiB"]
    return ["## Twenty strategies on real sessions", "", *table(columns, rows)]


def against_peers(options, folder: Path) -> list[str]:
    """Both shapes of 200 MB, under everything that could be installed."""
    peers = [peer for peer in options.peers if install(peer, folder)]
    floor = build(ROOT / "benches" / "floor", "floor")
    lines = ["Peers: " + ", ".join(f"{peer.name} {peer.version}" for peer in peers) + ".", ""]
    for tree in (many(folder), one(folder)):
        lines += compare_on(tree, options, peers, folder, floor)
    return lines


def heading(options) -> list[str]:
    command = [options.cachesim, "--version"]
    version = subprocess.run(command, capture_output=True, text=True, check=True)
    runs = f"{options.runs} runs each" if options.runs > 1 else "one run each"
    title = f"{version.stdout.strip()}, {CORES} cores, {runs}, page cache warm"
    return [f"# {datetime.date.today()}, {title}", ""]


def chosen_peers(names: str) -> list[Peer]:
    known = {peer.name: peer for peer in PEERS}
    wanted = list(known) if names == "all" else names.split(",")
    unknown = [name for name in wanted if name not in known]
    if unknown:
        message = f"no such peer: {', '.join(unknown)} (known: {', '.join(known)})"
        raise argparse.ArgumentTypeError(message)
    return [known[name] for name in wanted]


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--runs", type=int, default=9, metavar="N", help="rounds (9)")
    add("--peers", type=chosen_peers, metavar="NAMES", help="separated by commas, or all (ccusage)")
    add("--scaling", action="store_true", help="time sizes, and peers only with --peers")
    add("--corpus", action="store_true", help="time strategies, and peers only with --peers")
    add("--all-commands", action="store_true", help="beside analyze also breaks and context")
    add("--cachesim", type=Path, metavar="PATH", help="the program (built for release)")
    add("--save", action="store_true", help="append to benches/results/DATE.md, too")
    options = parser.parse_args()
    if options.peers is None and not (options.scaling or options.corpus):
        options.peers = chosen_peers("ccusage")
    return options


def work_folder():
    """The folder of trees and tools, as a context that removes it where it is temporary."""
    if "BENCH_DIR" not in os.environ:
        return tempfile.TemporaryDirectory()
    folder = Path(os.environ["BENCH_DIR"]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return contextlib.nullcontext(folder)


def main() -> None:
    options = parse_options()
    if not GENERATOR.is_file():
        print("skipped: ../shared/tools/gen_transcripts.py is not here")
        return
    options.cachesim = str((options.cachesim or build(ROOT, "cachesim", "dist")).resolve())
    with work_folder() as folder:
        folder = Path(folder)
        lines = heading(options)
        if options.peers:
            lines += against_peers(options, folder)
        if options.scaling:
            lines += scaling(options, folder)
        if options.corpus:
            lines += twenty_strategies(options, folder)
    document = "\n".join(lines).rstrip() + "\n"
    print(document, end="")
    if options.save:
        path = ROOT / "benches" / "results" / f"{datetime.date.today()}.md"
        with path.open("a", encoding="utf-8") as file:
            file.write(f"\n{document}" if file.tell() else document)


if __name__ == "__main__":
    main()
