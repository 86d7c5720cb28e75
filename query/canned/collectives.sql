-- Which collectives hold devices up? As `comm`: exposed time in the counted steps.
SELECT run, kind, op, count(*) AS executions, sum(inflight_ps) AS inflight_ps, sum(exposed_ps) AS exposed_ps, sum(hidden_ps) AS hidden_ps
FROM collective
GROUP BY run, kind, op
ORDER BY exposed_ps DESC, op
