-- How evenly do ops run? Percentiles of one execution by the clock that ops are counted by.
SELECT run, op, count(*) AS occurrences, p50(device_dur_ps) AS p50_ps, p99(device_dur_ps) AS p99_ps, max(device_dur_ps) AS longest_ps
FROM event
WHERE op IS NOT NULL
GROUP BY run, op
ORDER BY sum(self_ps) DESC, op
LIMIT 30
