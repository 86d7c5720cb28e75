-- Where does the capture go? As the waterfall of `idle`: the rows add up to the captures of all devices.
SELECT run, class, class_group, sum(time_ps) AS total_ps
FROM account
GROUP BY run, class, class_group
ORDER BY total_ps DESC, class
