//! A piece of work that somebody states, against the roofline of a chip: no profile is needed.

use super::Sums;
use crate::analysis::{Param, ParamKind, Params};
use haloscope_profile::{Peak, PeakSource, Peaks, chips};
use haloscope_report::Error;
use haloscope_report::scope::parse_time_ps;
use haloscope_report::units::PS_PER_S;
use haloscope_report::{PeakUsed, Report, Status, Unit, Value};

pub(super) const FLOPS: Param = Param {
    id: "flops",
    doc: "FLOPs of a piece of work, such as 138.8G: with --bytes and --latency, the roofline shows that work instead of a run",
    kind: ParamKind::Quantity,
    default: "",
};
pub(super) const BYTES: Param = Param {
    id: "bytes",
    doc: "bytes that it moves to and from HBM, such as 136M (10^6)",
    kind: ParamKind::Quantity,
    default: "",
};
pub(super) const LATENCY: Param = Param {
    id: "latency",
    doc: "the time it takes, such as 2.12ms; seconds if no unit is given",
    kind: ParamKind::Text,
    default: "",
};
pub(super) const CHIP: Param = Param {
    id: "chip",
    doc: "the TPU to compare with, such as v5e [default: the devices of RUN]",
    kind: ParamKind::Text,
    default: "",
};

/// The report on the work that the parameters state; `None` where they state none. `of_run` are the peaks of a run's
/// devices.
///
/// # Errors
/// [`Error::Usage`] where only a part is stated, or a chip that is not known.
pub(super) fn report(params: &Params, of_run: Option<Peaks>) -> Result<Option<Report>, Error> {
    let given = |param: &Param| !params.text(param).trim().is_empty();
    let all = [&FLOPS, &BYTES, &LATENCY];
    if !all.into_iter().chain([&CHIP]).any(given) {
        return Ok(None);
    }
    let missing: Vec<String> = all.iter().filter(|p| !given(p)).map(|p| format!("--{}", p.id)).collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        return Err(Error::Usage(format!(
            "a piece of work on the roofline needs --flops, --bytes and --latency; missing: {missing}"
        )));
    }
    let (peaks, used) = peaks(params.text(&CHIP).trim(), of_run)?;
    let sums = Sums {
        occurrences: 1,
        self_ps: latency_ps(params.text(&LATENCY))?,
        flops: params.quantity(&FLOPS),
        hbm_bytes: params.quantity(&BYTES),
        unknown_ps: 0,
    };
    let mut values = super::values(&sums, &peaks);
    values.retain(|value| value.id != "time_without_flops_share");
    let limits = sums.work().against(&peaks);
    let distance = peaks.ridge_point().zip(limits.intensity).map(|(ridge, own)| ridge / own);
    let share =
        |id, label, value: Option<f64>, unit, doc| Value::new(id, label, value, unit, Status::Derived, doc);
    values.extend([
        share(
            "flop_share_of_peak",
            "FLOP/s of peak",
            limits.flop_share,
            Unit::Share,
            "FLOP rate over the peak.",
        ),
        share("hbm_share_of_peak", "HBM of peak", limits.hbm_share, Unit::Share, "HBM rate over the peak."),
        share(
            "ridge_over_intensity",
            "Ridge point over intensity",
            distance,
            Unit::Ratio,
            "Above 1, the work is that many times below the ridge point.",
        ),
    ]);
    let mut report = Report { values, ..Report::default() };
    report.provenance.peaks = used;
    Ok(Some(report))
}

/// A time with a unit, else in seconds, as picoseconds.
fn latency_ps(text: &str) -> Result<i64, Error> {
    let bare = text.trim().parse::<f64>().ok().map(|seconds| (seconds * PS_PER_S).round());
    let bare = bare.filter(|ps| *ps < 9e18).map(|ps| ps as i64);
    bare.or_else(|| parse_time_ps(text)).filter(|ps| *ps > 0).ok_or_else(|| {
        Error::Usage(format!("`latency` of `roofline`: expected a time such as 2.12ms, found `{text}`"))
    })
}

fn peaks(chip: &str, of_run: Option<Peaks>) -> Result<(Peaks, Vec<PeakUsed>), Error> {
    if chip.is_empty() {
        return of_run.map(|peaks| (peaks, Vec::new())).ok_or_else(|| {
            Error::Usage(format!("name the chip with --chip, or a RUN; chips: {}", known_chips()))
        });
    }
    let found = chips::tpu(chip).ok_or_else(|| {
        Error::Usage(format!("`chip` of `roofline`: expected one of {}, found `{chip}`", known_chips()))
    })?;
    let peak = |rate| Some(Peak { rate, source: PeakSource::Table });
    let used = |resource, rate, unit| PeakUsed {
        device_type: found.type_name.to_owned(),
        resource,
        rate,
        unit,
        source: PeakSource::Table.word(),
    };
    let all = vec![
        used("flops", found.bf16_flops, Unit::FlopRate),
        used("hbm", found.hbm_bytes_per_s, Unit::ByteRate),
    ];
    Ok((Peaks { flops: peak(found.bf16_flops), hbm: peak(found.hbm_bytes_per_s), flops_at_most: None }, all))
}

fn known_chips() -> String {
    let names: Vec<&str> = chips::TPUS.iter().map(|chip| chip.short_name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies() {
        assert_eq!(latency_ps("2.12ms").unwrap(), 2_120_000_000);
        assert_eq!(latency_ps("0.00212").unwrap(), 2_120_000_000);
        assert_eq!(latency_ps("1.5 us").unwrap(), 1_500_000);
        for bad in ["", "x", "-3ms", "0", "2.12 parsecs", "nan", "1e300"] {
            assert!(latency_ps(bad).is_err(), "{bad}");
        }
    }
}
