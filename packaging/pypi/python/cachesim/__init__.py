"""What the prompt cache made of the sessions of coding agents, as tables.

Each function runs the program `cachesim`, which this package brings, and reads its output:

>>> import cachesim
>>> rows = cachesim.ledger("sessions/", since="7d", frame="pandas")
>>> rows[rows.strategy == "billed"].cost_usd.sum()

`ledger` has a row for each request and strategy, `breaks` one for each request that read less than it
could have, `compare` one for each strategy. `run` runs any command.

Each takes `paths`: a file or folder, or several. None reads what all agents keep at home. The further
keyword arguments are those of `Options`. `frame` chooses the result:

- "arrow": a `pyarrow.Table` (the extra `cachesim[pyarrow]`)
- "pandas": a `pandas.DataFrame` with columns of Arrow (`cachesim[pandas]`)
- "polars": a `polars.DataFrame` (`cachesim[polars]`)
- "rows": a list of dictionaries, one for each line of JSON; needs no library

Money is exact in all of them: a decimal with 12 places in tables, a text such as "0.07776" in rows.
It is null where the model has no price. No float is ever made of it here.

An error of the program raises `CachesimError`. What it skips, repairs or has no price for is a
`CachesimWarning`, by `warnings.warn`.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Dict, List, Literal, Optional, overload

from ._frames import check_frame, of_csv, of_lines, of_parquet
from ._options import Names, Options, Paths, arguments, many, with_options
from ._program import CachesimError, CachesimWarning, program, run

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from typing_extensions import Unpack

__all__ = ["CachesimError", "CachesimWarning", "Options", "breaks", "compare", "ledger", "program", "run"]

try:
    __version__ = version("cachesim")
except PackageNotFoundError:  # the sources, which are not installed
    __version__ = "unknown"

Chosen = Optional[Names]
Rows = List[Dict[str, Any]]


@overload
def ledger(
    paths: Paths = ..., *, strategies: Chosen = ..., frame: Literal["arrow"] = ..., **options: Unpack[Options]
) -> pyarrow.Table: ...
@overload
def ledger(
    paths: Paths = ..., *, strategies: Chosen = ..., frame: Literal["pandas"], **options: Unpack[Options]
) -> pandas.DataFrame: ...
@overload
def ledger(
    paths: Paths = ..., *, strategies: Chosen = ..., frame: Literal["polars"], **options: Unpack[Options]
) -> polars.DataFrame: ...
@overload
def ledger(
    paths: Paths = ..., *, strategies: Chosen = ..., frame: Literal["rows"], **options: Unpack[Options]
) -> Rows: ...
@with_options
def ledger(paths: Any = None, *, strategies: Any = None, frame: Any = "arrow", **options: Any) -> Any:
    """A row for each request and strategy: `cachesim analyze`, schema `cachesim.ledger/v1`.

    `strategies` are names or files of strategies. Without any they are billed, replay, none, 5m and 1h.
    `cachesim strategies` lists all.

    Columns of tables (in rows times and money are text, the others as in JSON):

    - text: schema, strategy, session_id, agent_id, request_id, message_id, model, file, basis, invalid,
      expired_ttl, source, project, added
    - times in UTC, to the microsecond: timestamp, start
    - 64-bit integers: line, input_tokens, cache_read_input_tokens, ephemeral_5m_input_tokens,
      ephemeral_1h_input_tokens, output_tokens, iteration, requests, nano_aiu
    - true or false: output_is_lower_bound, live
    - decimal(18, 12), in dollars: cost_usd

    With `domains` there are also domain (text) and row (integer). The metadata of an Arrow table has the
    version, the prices and the options. `cachesim schema ledger` describes each column.
    """
    check_frame(frame)
    own = () if strategies is None else (f"--strategy={','.join(many(strategies))}",)
    args = arguments("analyze", own, paths, options)
    return of_lines(args) if frame == "rows" else of_parquet(args, frame)


@overload
def breaks(
    paths: Paths = ..., *, rule: str = ..., frame: Literal["arrow"] = ..., **options: Unpack[Options]
) -> pyarrow.Table: ...
@overload
def breaks(
    paths: Paths = ..., *, rule: str = ..., frame: Literal["pandas"], **options: Unpack[Options]
) -> pandas.DataFrame: ...
@overload
def breaks(
    paths: Paths = ..., *, rule: str = ..., frame: Literal["polars"], **options: Unpack[Options]
) -> polars.DataFrame: ...
@overload
def breaks(
    paths: Paths = ..., *, rule: str = ..., frame: Literal["rows"], **options: Unpack[Options]
) -> Rows: ...
@with_options
def breaks(paths: Any = None, *, rule: str = "complete", frame: Any = "arrow", **options: Any) -> Any:
    """A row for each request that read less than it could have: `cachesim breaks`, `cachesim.break/v1`.

    `rule` is what counts as a break: "complete", or the client's own rule, "client".

    Columns of tables (in rows times and money are text, the others as in JSON):

    - text: schema, session_id, agent_id, request_id, message_id, model, class, cause, server_reason,
      project, file, basis
    - times in UTC, to the microsecond: timestamp, start
    - 64-bit integers: line, expected_read_tokens, cache_read_input_tokens, rewritten_tokens
    - true or false: expected, fork
    - a float: gap_s, the seconds since the request before
    - a list of structures: evidence
    - decimal(18, 12), in dollars: excess_usd, what the break cost

    `cachesim schema break` describes each column.
    """
    check_frame(frame)
    args = arguments("breaks", (f"--rule={rule}",), paths, options)
    return of_lines(args) if frame == "rows" else of_parquet(args, frame)


@overload
def compare(
    paths: Paths = ..., *, strategies: Chosen = ..., providers: Chosen = ...,
    frame: Literal["arrow"] = ..., **options: Unpack[Options],
) -> pyarrow.Table: ...
@overload
def compare(
    paths: Paths = ..., *, strategies: Chosen = ..., providers: Chosen = ...,
    frame: Literal["pandas"], **options: Unpack[Options],
) -> pandas.DataFrame: ...
@overload
def compare(
    paths: Paths = ..., *, strategies: Chosen = ..., providers: Chosen = ...,
    frame: Literal["polars"], **options: Unpack[Options],
) -> polars.DataFrame: ...
@overload
def compare(
    paths: Paths = ..., *, strategies: Chosen = ..., providers: Chosen = ...,
    frame: Literal["rows"], **options: Unpack[Options],
) -> Rows: ...
@with_options
def compare(
    paths: Any = None, *, strategies: Any = None, providers: Any = None, frame: Any = "arrow", **options: Any
) -> Any:
    """A row for each strategy on the same requests: `cachesim compare`. The first is what others are held against.

    `strategies` are names or files of strategies. Without any they are billed, replay, none, 5m, 1h, mixed
    and optimal. `providers` puts the requests under other providers' caches, too.

    Tables have the total figures, in these columns:

    - text: strategy
    - decimal(38, 12), in dollars: cost_usd, difference_usd, above_bound_usd
    - a float: hit_rate
    - 64-bit integers: cache_read_input_tokens, ephemeral_5m_input_tokens, ephemeral_1h_input_tokens,
      input_tokens, output_tokens, requests, added_requests
    - true or false: applicable

    Rows have more: figures by model, sessions in pairs, what is not known of a provider. They are lines of
    `cachesim.compare/v1`; `cachesim schema compare-line` describes them.
    """
    check_frame(frame)
    own = [] if strategies is None else [f"--strategy={','.join(many(strategies))}"]
    own += [] if providers is None else [f"--provider={','.join(many(providers))}"]
    args = arguments("compare", own, paths, options)
    return of_lines(args) if frame == "rows" else of_csv(args, frame)
