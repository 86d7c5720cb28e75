-- What kinds of ops take the time? As `ops --by category`.
SELECT run, coalesce(category, '(not recorded)') AS category, count(*) AS occurrences, sum(self_ps) AS self_ps
FROM event
WHERE op IS NOT NULL
GROUP BY run, category
ORDER BY self_ps DESC, category
