#!/usr/bin/env python3
"""Whether the rollups are the same on every engine, to the picodollar, as added up in Python's integers.

    python3 integrations/sql/test.py PARTS [ENGINE…]      duckdb, datafusion and spark, or those named

PARTS is a folder for parts with a manifest.json. It needs pyarrow, and the engines (pip install duckdb datafusion
pyspark). It prints a line for each engine, and ends with 1 where one differs.
"""

import datetime
import json
import pathlib
import sys
import time

import pyarrow.parquet

HERE = pathlib.Path(__file__).parent
TOKENS = [
    "input_tokens",
    "cache_read_input_tokens",
    "ephemeral_5m_input_tokens",
    "ephemeral_1h_input_tokens",
    "output_tokens",
]


def statements(name):
    """The statements of a file, without comments."""
    lines = (HERE / name).read_text().splitlines()
    text = "\n".join(line for line in lines if not line.startswith("--"))
    return [one.strip() for one in text.split(";\n") if one.strip()] if text.strip() else []


def rows(files, columns):
    for file in files:
        for batch in pyarrow.parquet.ParquetFile(file).iter_batches(columns=columns):
            yield from batch.to_pylist()


def picodollars(amount):
    return None if amount is None else int(amount.scaleb(12))


def add(total, amount):
    """A sum in which what is unknown is left out, and of nothing but that is unknown."""
    return total if amount is None else (total or 0) + amount


def periods(row):
    day = row["timestamp"].date() if row["timestamp"] else None
    return day, day - datetime.timedelta(days=day.weekday()) if day else None


def rollup_in_python(files, teams):
    sums = {}
    columns = ["timestamp", "domain", "model", "project", "strategy", "iteration", "requests", "cost_usd", *TOKENS]
    for row in rows(files, columns):
        day, week = periods(row)
        team = teams.get(row["domain"], row["domain"])
        key = (day, week, team, row["model"], row["project"], row["strategy"])
        one = sums.setdefault(key, [0, *[None] * len(TOKENS), None, 0])
        one[0] += row["requests"] if row["iteration"] is None else 0
        for place, name in enumerate(TOKENS):
            one[1 + place] = add(one[1 + place], row[name])
        one[-2] = add(one[-2], picodollars(row["cost_usd"]))
        one[-1] += row["cost_usd"] is None
    return {(*key, *one) for key, one in sums.items()}


def lost_in_python(files, teams):
    sums = {}
    columns = ["timestamp", "domain", "model", "project", "cause", "expected", "rewritten_tokens", "excess_usd"]
    for row in rows(files, columns):
        team = teams.get(row["domain"], row["domain"])
        key = (*periods(row), team, row["model"], row["project"], row["cause"], row["expected"])
        one = sums.setdefault(key, [0, 0, None])
        one[0] += 1
        one[1] += row["rewritten_tokens"]
        one[2] = add(one[2], picodollars(row["excess_usd"]))
    return {(*key, *one) for key, one in sums.items()}


def plain(value, name):
    """A value as Python's own: money as whole picodollars."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if name.endswith("_usd"):
        return picodollars(value)
    if isinstance(value, datetime.datetime):
        return value.date()
    return value if isinstance(value, datetime.date) else int(value)


def plain_rows(names, values):
    return {tuple(plain(value, name) for name, value in zip(names, row)) for row in values}


class DuckDb:
    def __init__(self, tables, teams):
        import duckdb

        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'UTC'")
        for name, files in tables.items():
            listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
            self.connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet([{listed}])")
        self.connection.execute("CREATE TABLE teams (domain VARCHAR, team VARCHAR)")
        for pair in teams.items():
            self.connection.execute("INSERT INTO teams VALUES (?, ?)", pair)

    def run(self, statement):
        self.connection.execute(statement)

    def query(self, view):
        result = self.connection.execute(f"SELECT * FROM {view}")
        return plain_rows([column[0] for column in result.description], result.fetchall())


class DataFusion:
    def __init__(self, tables, teams):
        import datafusion

        self.context = datafusion.SessionContext()
        for name, files in tables.items():
            parts = []
            for number, file in enumerate(files):
                self.context.register_parquet(f"{name}_{number}", file)
                parts.append(f"SELECT * FROM {name}_{number}")
            self.context.sql(f"CREATE VIEW {name} AS {' UNION ALL '.join(parts)}").collect()
        pairs = ", ".join(f"('{domain}', '{team}')" for domain, team in teams.items())
        self.context.sql(f"CREATE VIEW teams AS SELECT * FROM (VALUES {pairs}) AS t (domain, team)").collect()

    def run(self, statement):
        self.context.sql(statement).collect()

    def query(self, view):
        batches = self.context.sql(f"SELECT * FROM {view}").collect()
        found = set()
        for batch in batches:
            names = batch.schema.names
            found |= plain_rows(names, (tuple(row.values()) for row in batch.to_pylist()))
        return found


class Spark:
    def __init__(self, tables, teams):
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.driver.host", "127.0.0.1")
        self.session = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
        self.session.sparkContext.setLogLevel("ERROR")
        for name, files in tables.items():
            self.session.read.parquet(*files).createOrReplaceTempView(name)
        self.session.createDataFrame(list(teams.items()), ["domain", "team"]).createOrReplaceTempView("teams")

    def run(self, statement):
        self.session.sql(statement.replace("CREATE VIEW", "CREATE TEMPORARY VIEW", 1))

    def query(self, view):
        frame = self.session.sql(f"SELECT * FROM {view}")
        return plain_rows(frame.columns, (tuple(row) for row in frame.collect()))


ENGINES = {"duckdb": DuckDb, "datafusion": DataFusion, "spark": Spark}


def main(parts, engines):
    manifest = json.loads((parts / "manifest.json").read_text())
    files = {of: [str(parts / part[of]["path"]) for part in manifest["parts"]] for of in ("ledger", "breaks")}
    domains = [part["domain"] for part in manifest["parts"]]
    teams = {domain: f"team-{number % 3}" for number, domain in enumerate(domains) if number % 4}
    expected = {"rollup_v1": rollup_in_python(files["ledger"], teams), "lost_v1": lost_in_python(files["breaks"], teams)}
    failed = False
    for name in engines or ENGINES:
        began = time.monotonic()
        engine = ENGINES[name](files, teams)
        for statement in [*statements("rollup_v1.sql"), *statements("seams_v1.sql")]:
            engine.run(statement)
        found = {view: engine.query(view) for view in expected}
        seams = engine.query("seams_v1")
        same = found == expected and not seams
        failed |= not same
        counts = ", ".join(f"{len(rows)} rows of {view}" for view, rows in found.items())
        print(f"{name}: {'the same' if same else 'OTHER FIGURES'}: {counts}, {time.monotonic() - began:.1f} s")
        for view in [] if found == expected else expected:
            for row in sorted(found[view] ^ expected[view], key=str)[:4]:
                print(f"    {view}: {'only here' if row in found[view] else 'not here'}: {row}")
    return int(failed)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    raise SystemExit(main(pathlib.Path(sys.argv[1]), sys.argv[2:]))
