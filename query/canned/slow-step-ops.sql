-- What took longer in the slowest whole step than in the others?
WITH part AS (
  SELECT run, op, step, sum(self_ps) AS self_ps
  FROM event
  WHERE op IS NOT NULL AND step IS NOT NULL
  GROUP BY run, op, step
), whole AS (
  SELECT run, step, max(dur_ps) AS dur_ps FROM step WHERE class IS DISTINCT FROM 'edge' GROUP BY run, step
), slowest AS (
  SELECT run, step FROM (
    SELECT run, step, row_number() OVER (PARTITION BY run ORDER BY dur_ps DESC, step) AS place FROM whole
  ) WHERE place = 1
), others AS (
  SELECT whole.run AS run, count(*) AS steps
  FROM whole JOIN slowest ON whole.run = slowest.run AND whole.step <> slowest.step
  GROUP BY whole.run
)
SELECT part.run AS run, op,
       sum(CASE WHEN part.step = slowest.step THEN self_ps ELSE 0 END) AS slowest_ps,
       sum(CASE WHEN part.step <> slowest.step THEN self_ps ELSE 0 END) / others.steps AS others_ps,
       sum(CASE WHEN part.step = slowest.step THEN self_ps ELSE 0 END)
         - sum(CASE WHEN part.step <> slowest.step THEN self_ps ELSE 0 END) / others.steps AS more_ps
FROM part
JOIN whole ON part.run = whole.run AND part.step = whole.step
JOIN slowest ON part.run = slowest.run
JOIN others ON part.run = others.run
GROUP BY part.run, op, others.steps
ORDER BY more_ps DESC, op
LIMIT 20
