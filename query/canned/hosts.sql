-- How much time do the ops of each device take, and how much of it are collectives? As `ops`, device by device.
SELECT op.run AS run, op.host AS host, op.device AS device, sum(op.self_ps) AS self_ps,
       sum(CASE WHEN talk.op IS NOT NULL THEN op.self_ps ELSE 0 END) AS collective_ps
FROM op
LEFT JOIN (SELECT DISTINCT run, device, op, module FROM collective) AS talk
  ON op.run = talk.run AND op.device = talk.device AND op.op = talk.op AND op.module IS NOT DISTINCT FROM talk.module
GROUP BY op.run, op.host, op.device
ORDER BY self_ps DESC, op.device
