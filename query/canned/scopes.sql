-- Which parts of the model take the time? Self time by the first two levels of the framework's scopes.
SELECT run,
       split_part(framework_op, '/', 1) || '/' || split_part(framework_op, '/', 2) AS scope,
       sum(self_ps) AS self_ps
FROM op
WHERE framework_op IS NOT NULL
GROUP BY run, scope
ORDER BY self_ps DESC, scope
LIMIT 30
