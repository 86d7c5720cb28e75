-- Which programs ran, how often and for how long? As `hlo modules`.
SELECT run, module, program_id, count(*) AS launches, sum(dur_ps) AS total_ps, p50(dur_ps) AS p50_ps, max(dur_ps) AS longest_ps
FROM launch
GROUP BY run, module, program_id
ORDER BY total_ps DESC, module
