-- Which are the longest gaps inside of a device's active time, and between what? As the gaps of `idle`.
SELECT run, device, class, dur_ps, start_ps, end_ps, after, before
FROM gap
WHERE class NOT IN ('before the first op', 'after the last op')
ORDER BY dur_ps DESC, start_ps, device
LIMIT 50
