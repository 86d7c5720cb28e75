-- Which events take the time, by kind of line? Lines of a device repeat each other: kinds are never added up.
SELECT run, kind, name, count(*) AS events, sum(dur_ps) AS dur_ps
FROM event
GROUP BY run, kind, name
ORDER BY dur_ps DESC, kind, name
LIMIT 50
