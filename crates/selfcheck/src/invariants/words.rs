//! Numbers in sentences.

use haloscope_report::{Cell, Report};

use crate::tally::Tally;

/// No `21 of 18`, and no `172% of` something that it is part of.
pub(super) fn fit(report: &Report, tally: &mut Tally) {
    // Of changes more than all may be said.
    if ["compare", "check"].contains(&report.analysis) {
        return;
    }
    let mut look = |place: &dyn Fn() -> String, text: &str| {
        for (part, whole) in pairs(text) {
            tally.hold(part <= whole, || (place(), format!("\"{text}\"")));
        }
    };
    let analysis = report.analysis;
    for finding in &report.findings {
        for text in [&finding.claim, &finding.evidence, &finding.ceiling] {
            look(&|| format!("`{analysis}`, finding `{}`", finding.id), text);
        }
    }
    // A remark on what is broken quotes it.
    for note in report.quality.iter().filter(|note| note.id != "sum_does_not_hold") {
        look(&|| format!("`{analysis}`, remark `{}`", note.id), &note.message);
    }
    for value in &report.values {
        if let Cell::Text(text) = &value.value {
            look(&|| format!("`{analysis}`, `{}`", value.id), text);
        }
    }
    for table in report
        .tables
        .iter()
        .filter(|table| table.columns.iter().any(|c| c.kind == haloscope_report::Kind::Prose))
    {
        let prose = table.columns.iter().enumerate().filter(|(_, c)| c.kind == haloscope_report::Kind::Prose);
        for (column, _) in prose {
            for text in table.rows.iter().filter_map(|row| row.get(column)?.as_text()) {
                look(&|| format!("`{analysis}`, table `{}`", table.id), text);
            }
        }
    }
}

/// The numbers of `N of M` and of `N% of`, whose whole is 102.
fn pairs(text: &str) -> Vec<(f64, f64)> {
    const PERCENT: f64 = 102.0;
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let number =
        |word: &str| word.trim_matches(|c: char| ",.:;()".contains(c)).replace(',', "").parse::<f64>().ok();
    let each = |three: &[&str]| {
        let [first, "of", last] = three else { return None };
        let article = ["the", "its", "all", "these", "their"].contains(last);
        match first.strip_suffix('%') {
            Some(percent) => Some((number(percent)?, PERCENT)),
            None if article => None,
            // A count, not a name or a measure: `fp8 of 3`, `2.5 of 3`.
            None => {
                Some((number(first)?, number(last)?)).filter(|(a, b)| a.fract() == 0.0 && b.fract() == 0.0)
            }
        }
    };
    words.windows(3).filter_map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_percents_are_read() {
        assert_eq!(pairs("Step 21 of 18: slow"), [(21.0, 18.0)]);
        assert_eq!(pairs("1,200 of 2,400 ops"), [(1200.0, 2400.0)]);
        assert_eq!(pairs("172% of HBM's peak"), [(172.0, 102.0)]);
        assert_eq!(pairs("4 of the 16 devices; 2.5 of 3; step 3 of jit_f"), []);
    }
}
