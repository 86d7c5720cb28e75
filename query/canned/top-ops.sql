-- Which ops take the time? As `ops`, by program.
SELECT run, module, op, category, sum(occurrences) AS occurrences, sum(total_ps) AS total_ps, sum(self_ps) AS self_ps
FROM op
GROUP BY run, module, program_id, op, category
ORDER BY self_ps DESC, op, module
LIMIT 50
