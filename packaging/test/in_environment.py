"""Tests of the Python module, run by the Python of the environment into which the wheel was installed."""

import datetime
import inspect
import json
import os
import subprocess
import sys
import tempfile
import unittest
import warnings
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import cachesim

FIXTURES = Path(os.environ["TEST_FIXTURES"])
FIRST_LOOK = FIXTURES / "first-look"
UTC = datetime.timezone.utc


def needs(*libraries):
    missing = [each for each in libraries if find_spec(each) is None]
    return unittest.skipIf(missing, ", ".join(missing))


def typed(rows):
    """Rows with money and times as tables have them."""
    def of(name, value):
        if value is None:
            return None
        if name.endswith("_usd"):
            return Decimal(value)
        if name in ("timestamp", "start"):
            return datetime.datetime.strptime(value, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
        if name == "evidence":
            return [{"text": None, **each} for each in value]
        return value

    return [{name: of(name, value) for name, value in row.items()} for row in rows]


def sums(rows):
    found = {}
    for row in rows:
        found[row["strategy"]] = found.get(row["strategy"], 0) + Decimal(row["cost_usd"])
    return found


class Rows(unittest.TestCase):
    def test_rows_are_the_lines_of_json(self):
        functions = {"analyze": cachesim.ledger, "breaks": cachesim.breaks, "compare": cachesim.compare}
        for command, function in functions.items():
            args = [os.environ["TEST_ENVIRONMENT"], command, FIRST_LOOK, "--format", "jsonl"]
            lines = subprocess.run(args, stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
            self.assertEqual(function(FIRST_LOOK, frame="rows"), [json.loads(line) for line in lines])

    def test_money_adds_up_to_the_totals_of_the_report(self):
        report = json.loads(cachesim.run(["analyze", FIRST_LOOK, "--json"]).stdout)
        totals = {name: Decimal(each["cost_usd"]) for name, each in report["totals"].items()}
        self.assertEqual(sums(cachesim.ledger(FIRST_LOOK, frame="rows")), totals)

    def test_options(self):
        def count(**options):
            return len(cachesim.ledger(FIRST_LOOK, strategies="billed", frame="rows", **options))

        moment = datetime.datetime(2026, 8, 3, 10, 15, tzinfo=UTC)
        self.assertEqual(count(), 6)
        self.assertLess(0, count(until=moment))
        self.assertEqual(count(until=moment) + count(since=moment), 6)
        self.assertEqual(count(since=datetime.date(2026, 8, 3), tokens="exact", live=True, config=False), 6)
        self.assertEqual(count(source=["claude", "codex"], session=["5e1f"], options=["--ttl-grace", "5"]), 6)
        self.assertEqual(count(since=None, project=None, live=None), 6)
        with_domains = cachesim.ledger(FIRST_LOOK, domains="depth:1", root=FIXTURES, frame="rows")
        self.assertEqual({row["domain"] for row in with_domains}, {"first-look"})
        both = cachesim.ledger([FIRST_LOOK, FIXTURES / "sub-agents"], strategies=["billed"], frame="rows")
        self.assertGreater(len(both), 6)

    def test_what_makes_no_sense_is_refused(self):
        naive = datetime.datetime(2026, 8, 3)
        self.assertRaisesRegex(ValueError, "has no time zone", cachesim.ledger, FIRST_LOOK, since=naive, frame="rows")
        self.assertRaisesRegex(ValueError, "paths is empty", cachesim.ledger, [], frame="rows")
        self.assertRaisesRegex(ValueError, "not one of arrow", cachesim.breaks, FIRST_LOOK, frame="dask")
        self.assertRaisesRegex(TypeError, "no option sinc", cachesim.compare, FIRST_LOOK, sinc="7d", frame="rows")

    def test_errors_are_raised(self):
        for code, call in (
            (3, lambda: cachesim.ledger(FIXTURES / "nowhere", frame="rows")),
            (2, lambda: cachesim.breaks(FIRST_LOOK, since="soon", frame="rows")),
            (4, lambda: cachesim.ledger(FIXTURES / "damaged", strict=True, frame="rows")),
            (2, lambda: cachesim.run(["nothing"])),
        ):
            with self.assertRaises(cachesim.CachesimError) as raised:
                call()
            self.assertEqual(raised.exception.code, code)
            self.assertTrue(raised.exception.stderr)
            self.assertEqual(str(raised.exception), raised.exception.stderr.strip())
        self.assertEqual(cachesim.run(["nothing"], check=False).returncode, 2)

    def test_damaged_lines_warn_where_the_call_is(self):
        with self.assertWarns(cachesim.CachesimWarning) as warned:
            rows = cachesim.ledger(FIXTURES / "damaged", frame="rows")
        self.assertTrue(rows)
        self.assertIn("not JSON", str(warned.warning))
        self.assertEqual(os.path.basename(warned.filename), "in_environment.py")

    def test_names_are_never_options_or_commands(self):
        session = (FIRST_LOOK / "session.jsonl").read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            for name in ("--strict.jsonl", "$(touch made).jsonl", "a;b & 'c.jsonl"):
                (Path(folder) / name).write_bytes(session)
                before = os.getcwd()
                os.chdir(folder)
                try:
                    self.assertEqual(len(cachesim.ledger(name, frame="rows")), 30)
                finally:
                    os.chdir(before)
            self.assertEqual(len(os.listdir(folder)), 3)

    def test_the_program_is_that_of_the_environment(self):
        self.assertEqual(cachesim.program(), os.environ["TEST_ENVIRONMENT"])
        self.assertEqual(cachesim.run(["--version"]).stdout, f"cachesim {cachesim.__version__}\n")
        with mock.patch("cachesim._program._places", list), tempfile.TemporaryDirectory() as folder:
            with mock.patch.dict(os.environ, PATH=folder):
                with self.assertRaises(cachesim.CachesimError) as raised:
                    cachesim.program()
                self.assertEqual(raised.exception.code, 127)
                os.symlink(os.environ["TEST_ENVIRONMENT"], os.path.join(folder, "cachesim"))
                self.assertEqual(cachesim.program(), os.path.join(folder, "cachesim"))

    def test_a_missing_library_is_named(self):
        for frame, library in (("arrow", "pyarrow"), ("polars", "polars")):
            with mock.patch.dict(sys.modules, {library: None}):
                self.assertRaisesRegex(ImportError, rf"cachesim\[{library}\]", cachesim.ledger, FIRST_LOOK, frame=frame)

    def test_help_lists_the_options(self):
        for function in (cachesim.ledger, cachesim.breaks, cachesim.compare):
            self.assertIn("since", inspect.signature(function).parameters)


class Tables(unittest.TestCase):
    @needs("pyarrow")
    def test_arrow_has_the_same_values(self):
        for function in (cachesim.ledger, cachesim.breaks):
            rows = typed(function(FIRST_LOOK, frame="rows"))
            self.assertEqual(function(FIRST_LOOK).to_pylist(), rows)

    @needs("pyarrow")
    def test_types_are_those_of_the_documentation(self):
        ledger, breaks, compare = (f(FIRST_LOOK) for f in (cachesim.ledger, cachesim.breaks, cachesim.compare))
        kinds = [
            (ledger, cachesim.ledger, "cost_usd", "decimal128(18, 12)"),
            (breaks, cachesim.breaks, "excess_usd", "decimal128(18, 12)"),
            (compare, cachesim.compare, "cost_usd", "decimal128(38, 12)"),
        ]
        for table, function, name, kind in kinds:
            self.assertEqual(str(table.schema.field(name).type), kind)
            for column in table.column_names:
                self.assertRegex(function.__doc__, rf"\b{column}\b")

    @needs("pyarrow", "pandas")
    def test_pandas_adds_up_exactly(self):
        table = cachesim.ledger(FIRST_LOOK, frame="pandas")
        rows = cachesim.ledger(FIRST_LOOK, frame="rows")
        self.assertEqual(table.groupby("strategy").cost_usd.sum().to_dict(), sums(rows))
        self.assertEqual(len(cachesim.breaks(FIRST_LOOK, frame="pandas")), 2)

    @needs("polars")
    def test_polars_adds_up_exactly(self):
        import polars

        table = cachesim.ledger(FIRST_LOOK, frame="polars")
        rows = cachesim.ledger(FIRST_LOOK, frame="rows")
        self.assertEqual(table.rows(named=True), [{name: row[name] for name in table.columns} for row in typed(rows)])
        grouped = table.group_by("strategy").agg(polars.col("cost_usd").sum())
        self.assertEqual(dict(zip(grouped["strategy"], grouped["cost_usd"])), sums(rows))
        self.assertEqual(len(cachesim.breaks(FIRST_LOOK, frame="polars")), 2)

    @needs("pyarrow", "pandas", "polars")
    def test_compare_has_the_figures_of_its_lines(self):
        options = {"strategies": ["billed", "1h"], "providers": "openai"}
        lines = cachesim.compare(FIRST_LOOK, frame="rows", **options)
        frames = ("arrow", "pandas", "polars")
        arrow, pandas, polars = (cachesim.compare(FIRST_LOOK, frame=each, **options) for each in frames)
        self.assertEqual(arrow.to_pylist(), polars.rows(named=True))
        self.assertEqual(list(pandas.cost_usd), arrow["cost_usd"].to_pylist())
        self.assertEqual(arrow["strategy"].to_pylist(), [line["strategy"] for line in lines])
        self.assertEqual(arrow["cost_usd"].to_pylist(), [Decimal(line["totals"]["cost_usd"]) for line in lines])
        self.assertEqual(arrow["hit_rate"].to_pylist(), [line["hit_rate"] for line in lines])
        self.assertIsNone(arrow["above_bound_usd"].to_pylist()[-1])


if __name__ == "__main__":
    warnings.simplefilter("error", ResourceWarning)
    unittest.main()
