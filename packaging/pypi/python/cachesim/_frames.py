"""The program's output as tables. Libraries are imported only where they are asked for."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence

from ._program import Argument, output_of

FRAMES = ("arrow", "pandas", "polars", "rows")


def check_frame(frame: str) -> None:
    """Refuses an unknown kind of table, and one whose library is missing, before anything is read."""
    if frame not in FRAMES:
        raise ValueError(f"frame is {frame!r}, and not one of {', '.join(FRAMES)}")
    try:
        if frame in ("arrow", "pandas"):
            import pyarrow  # noqa: F401
        if frame == "pandas":
            import pandas  # noqa: F401
        if frame == "polars":
            import polars  # noqa: F401
    except ImportError as error:
        extra = "pyarrow" if frame == "arrow" else frame
        message = f'frame="{frame}" needs the library {error.name}: pip install "cachesim[{extra}]"'
        raise ImportError(message, name=error.name) from error


def _asked(args: Sequence[Argument], format: str, *more: str) -> List[Argument]:
    """A command with its format. Paths come last, so options stand right behind the command."""
    command, *rest = args
    return [command, f"--format={format}", *more, *rest]


def of_lines(args: Sequence[Argument]) -> List[Dict[str, Any]]:
    """JSON lines as they are."""
    return [json.loads(line) for line in output_of(_asked(args, "jsonl")).splitlines()]


def of_parquet(args: Sequence[Argument], frame: str) -> Any:
    """The rows of a Parquet file, which is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="cachesim-") as folder:
        file = Path(folder) / "rows.parquet"
        output_of(_asked(args, "parquet", f"--output={file}"))
        if frame == "polars":
            import polars

            return polars.read_parquet(file, memory_map=False)
        import pyarrow.parquet

        return _of_arrow(pyarrow.parquet.read_table(file, memory_map=False), frame)


def _of_arrow(table: Any, frame: str) -> Any:
    """An Arrow table as what is asked for. Columns of pandas stay Arrow's, so that nothing is rounded."""
    if frame == "pandas":
        import pandas

        return table.to_pandas(types_mapper=pandas.ArrowDtype)
    return table


_READ: Dict[str, Callable[[str], Any]] = {
    "text": str,
    "flag": lambda word: word == "true",
    "ratio": float,
    "money": Decimal,
    "count": int,
}


def _kind(column: str) -> str:
    """What a column of `compare` holds."""
    if column.endswith("_usd"):
        return "money"
    return {"strategy": "text", "applicable": "flag", "hit_rate": "ratio"}.get(column, "count")


def of_csv(args: Sequence[Argument], frame: str) -> Any:
    """A table of figures. An empty field is null."""
    lines = list(csv.DictReader(io.StringIO(output_of(_asked(args, "csv")))))
    kinds = {name: _kind(name) for name in lines[0]}
    columns = {
        name: [_READ[kind](line[name]) if line[name] else None for line in lines]
        for name, kind in kinds.items()
    }
    if frame == "polars":
        import polars as pl

        types: Dict[str, Any] = {"text": pl.String, "flag": pl.Boolean, "ratio": pl.Float64, "count": pl.Int64}
        schema = {name: types.get(kind, pl.Decimal(38, 12)) for name, kind in kinds.items()}
        return pl.DataFrame(columns, schema=schema)
    import pyarrow as pa

    types = {"text": pa.string(), "flag": pa.bool_(), "ratio": pa.float64(), "count": pa.int64()}
    fields = [(name, types.get(kind, pa.decimal128(38, 12))) for name, kind in kinds.items()]
    return _of_arrow(pa.table(columns, schema=pa.schema(fields)), frame)
