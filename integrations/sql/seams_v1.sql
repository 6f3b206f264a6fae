-- Requests that are in two domains: the domains cut through a history, and both count them. There must be none.
--
-- Source: `ledger` (the files that manifest.json names under ledger). `cachesim gather` looks for them, too, before
-- it writes a manifest; this is for rows that were put together in another way.
-- DuckDB, DataFusion and Spark run this as it is.

CREATE VIEW seams_v1 AS
SELECT
    message_id,
    request_id,
    COUNT(DISTINCT domain) AS domains,
    MIN(domain) AS first_domain,
    MAX(domain) AS last_domain,
    MIN(file) AS first_file,
    MAX(file) AS last_file
FROM ledger
WHERE message_id IS NOT NULL AND request_id IS NOT NULL
GROUP BY message_id, request_id
HAVING COUNT(DISTINCT domain) > 1;
