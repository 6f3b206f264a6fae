-- What was spent, by day, week, team, model, project and strategy, and what breaks cost, by cause.
--
-- Sources: `ledger` (the files that manifest.json names under ledger), `breaks` (those under breaks), and `teams`
-- (domain, team; a domain in none is a team of its own, one in several is in the first). Money is an exact decimal of
-- dollars; no figure is ever a float. Days and weeks (from Monday on) are those of the engine's time zone: set it to
-- UTC. Requests that a strategy adds count as requests; further samplings of one do not. DuckDB, DataFusion and Spark
-- run this as it is.
-- A statement ends with a semicolon at the end of a line.

-- A domain counts once, whatever teams say.
CREATE VIEW team_of_v1 AS SELECT domain, MIN(team) AS team FROM teams GROUP BY domain;

CREATE VIEW daily_spent_v1 AS
SELECT
    CAST(timestamp AS DATE) AS day,
    domain, model, project, strategy,
    SUM(CAST(CASE WHEN iteration IS NULL THEN requests ELSE 0 END AS DECIMAL(18, 0))) AS requests,
    SUM(CAST(input_tokens AS DECIMAL(18, 0))) AS input_tokens,
    SUM(CAST(cache_read_input_tokens AS DECIMAL(18, 0))) AS cache_read_input_tokens,
    SUM(CAST(ephemeral_5m_input_tokens AS DECIMAL(18, 0))) AS ephemeral_5m_input_tokens,
    SUM(CAST(ephemeral_1h_input_tokens AS DECIMAL(18, 0))) AS ephemeral_1h_input_tokens,
    SUM(CAST(output_tokens AS DECIMAL(18, 0))) AS output_tokens,
    SUM(cost_usd) AS cost_usd,
    COUNT(*) - COUNT(cost_usd) AS rows_without_cost
FROM ledger
GROUP BY CAST(timestamp AS DATE), domain, model, project, strategy;

CREATE VIEW rollup_v1 AS
SELECT
    day,
    CAST(date_trunc('week', CAST(day AS TIMESTAMP)) AS DATE) AS week,
    COALESCE(team, daily.domain) AS team,
    model, project, strategy,
    CAST(SUM(CAST(requests AS DECIMAL(38, 0))) AS DECIMAL(38, 0)) AS requests,
    CAST(SUM(CAST(input_tokens AS DECIMAL(38, 0))) AS DECIMAL(38, 0)) AS input_tokens,
    CAST(SUM(CAST(cache_read_input_tokens AS DECIMAL(38, 0))) AS DECIMAL(38, 0)) AS cache_read_input_tokens,
    CAST(SUM(CAST(ephemeral_5m_input_tokens AS DECIMAL(38, 0))) AS DECIMAL(38, 0)) AS ephemeral_5m_input_tokens,
    CAST(SUM(CAST(ephemeral_1h_input_tokens AS DECIMAL(38, 0))) AS DECIMAL(38, 0)) AS ephemeral_1h_input_tokens,
    CAST(SUM(CAST(output_tokens AS DECIMAL(38, 0))) AS DECIMAL(38, 0)) AS output_tokens,
    CAST(SUM(CAST(cost_usd AS DECIMAL(38, 12))) AS DECIMAL(38, 12)) AS cost_usd,
    SUM(rows_without_cost) AS rows_without_cost
FROM daily_spent_v1 AS daily LEFT JOIN team_of_v1 AS teams ON daily.domain = teams.domain
GROUP BY day, COALESCE(team, daily.domain), model, project, strategy;

CREATE VIEW daily_lost_v1 AS
SELECT
    CAST(timestamp AS DATE) AS day,
    domain, model, project, cause, expected,
    COUNT(*) AS breaks,
    SUM(CAST(rewritten_tokens AS DECIMAL(18, 0))) AS rewritten_tokens,
    SUM(excess_usd) AS excess_usd
FROM breaks
GROUP BY CAST(timestamp AS DATE), domain, model, project, cause, expected;

CREATE VIEW lost_v1 AS
SELECT
    day,
    CAST(date_trunc('week', CAST(day AS TIMESTAMP)) AS DATE) AS week,
    COALESCE(team, daily.domain) AS team,
    model, project, cause, expected,
    SUM(breaks) AS breaks,
    CAST(SUM(CAST(rewritten_tokens AS DECIMAL(38, 0))) AS DECIMAL(38, 0)) AS rewritten_tokens,
    CAST(SUM(CAST(excess_usd AS DECIMAL(38, 12))) AS DECIMAL(38, 12)) AS excess_usd
FROM daily_lost_v1 AS daily LEFT JOIN team_of_v1 AS teams ON daily.domain = teams.domain
GROUP BY day, COALESCE(team, daily.domain), model, project, cause, expected;
