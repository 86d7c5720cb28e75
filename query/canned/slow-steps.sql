-- Which steps are slower than usual? The slowest device's time, as `steps` counts it, against the median of steps that were not cut.
WITH whole AS (
  SELECT run, step, min(class) AS class, max(dur_ps) AS dur_ps, min(start_ps) AS start_ps FROM step GROUP BY run, step
), usual AS (
  SELECT run, p50(dur_ps) AS median_ps FROM whole WHERE class IS DISTINCT FROM 'edge' GROUP BY run
)
SELECT whole.run AS run, step, class, dur_ps, dur_ps / median_ps - 1 AS off_median, start_ps
FROM whole JOIN usual ON whole.run = usual.run
ORDER BY off_median DESC, whole.run, step
