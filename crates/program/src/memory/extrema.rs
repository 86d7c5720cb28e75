//! Fewer points of a curve, with its peaks and valleys kept.

/// At most about `most` points of a curve: first, last, and of every run of neighbours the highest and the lowest, in order.
/// What a drawing of that width would show is kept; means would hide the peak. Points without a number are left out.
#[must_use]
pub(crate) fn thin(points: Vec<[f64; 2]>, most: usize) -> Vec<[f64; 2]> {
    if points.len() <= most.max(4) {
        return points;
    }
    let width = points.len().div_ceil((most / 2).max(1)).max(2);
    let mut thin = Vec::with_capacity(most + 4);
    for run in points.chunks(width) {
        let by_height = |a: &&[f64; 2], b: &&[f64; 2]| a[1].total_cmp(&b[1]);
        // Of equals the first.
        let lowest = run.iter().min_by(by_height);
        let highest = run.iter().rev().max_by(by_height);
        let (Some(lowest), Some(highest)) = (lowest, highest) else { continue };
        let (first, second) = if lowest[0] <= highest[0] { (lowest, highest) } else { (highest, lowest) };
        thin.push(*first);
        if first != second {
            thin.push(*second);
        }
    }
    if let (Some(first), Some(kept)) = (points.first(), thin.first())
        && first != kept
    {
        thin.insert(0, *first);
    }
    if let (Some(last), Some(kept)) = (points.last(), thin.last())
        && last != kept
    {
        thin.push(*last);
    }
    thin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_valleys_and_ends_stay() {
        let height = |i: usize| match i {
            777 => 100.0,
            778 => -100.0,
            _ => (i % 7) as f64,
        };
        let points: Vec<_> = (0..10_000).map(|i| [i as f64, height(i)]).collect();
        let thin = thin(points.clone(), 200);
        assert!(thin.len() <= 204 && thin.len() > 100, "{}", thin.len());
        assert!(thin.is_sorted_by(|a, b| a[0] < b[0]));
        assert!(thin.contains(&[777.0, 100.0]) && thin.contains(&[778.0, -100.0]));
        assert_eq!((thin.first(), thin.last()), (points.first(), points.last()));
        assert!(thin.iter().all(|point| points.contains(point)));
    }

    #[test]
    fn few_points_stay_as_they_are() {
        for length in [0, 1, 4, 100] {
            let points: Vec<_> = (0..length).map(|i| [i as f64, 1.0]).collect();
            assert_eq!(thin(points.clone(), 100), points);
        }
        // A level curve needs no more than its ends and one point a run.
        assert_eq!(thin(vec![[1.0, 2.0]; 1000], 0).len(), 1);
    }
}
