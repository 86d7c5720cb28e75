//! Moments as people and other programs write them: RFC 3339.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const DAY: i64 = 86_400;
/// 0000-01-01 and 9999-12-31T23:59:59, in seconds from 1970: what four digits of a year can say.
const RANGE: std::ops::RangeInclusive<i64> = -62_167_219_200..=253_402_300_799;

/// A moment, to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(i64);

impl Time {
    /// So many seconds from the start of 1970 in UTC; what four digits of a year cannot say is cut to what they can.
    #[must_use]
    pub fn from_unix(seconds: i64) -> Self {
        Self(seconds.clamp(*RANGE.start(), *RANGE.end()))
    }

    /// As `2026-11-22 10:45`, in UTC: for tables.
    #[must_use]
    pub fn to_minute(self) -> String {
        self.to_string().chars().take(16).map(|c| if c == 'T' { ' ' } else { c }).collect()
    }

    /// Seconds from the start of 1970 in UTC.
    #[must_use]
    pub fn unix(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, rest) = (self.0.div_euclid(DAY), self.0.rem_euclid(DAY));
        let (year, month, day) = civil(days);
        write!(f, "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
    }
}

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        read(text).ok_or_else(|| format!("expected a time such as 2026-11-22T10:45:12Z, found `{text}`"))
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

fn read(text: &str) -> Option<Time> {
    let (date, clock) = text.split_once(['T', 't', ' '])?;
    let mut parts = date.splitn(3, '-').map(digits);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let (clock, offset) = match clock.find(['Z', 'z', '+', '-']) {
        Some(at) => clock.split_at(at),
        None => return None,
    };
    let mut parts = clock.splitn(3, ':');
    let (hour, minute) = (digits(parts.next()?)?, digits(parts.next()?)?);
    // Parts of a second are dropped: nobody profiles twice in one.
    let (second, fraction) = parts.next().map(|s| s.split_once('.').unwrap_or((s, "0")))?;
    let second = digits(second)?;
    let fits = (1..=12).contains(&month)
        && (1..=length(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        // A leap second is the last second of its minute.
        && second <= 60
        && !fraction.is_empty()
        && fraction.bytes().all(|b| b.is_ascii_digit());
    if !fits || date.len() != 10 {
        return None;
    }
    let local = days(year, month, day) * DAY + hour * 3600 + minute * 60 + second.min(59);
    let seconds = local - offset_seconds(offset)?;
    RANGE.contains(&seconds).then_some(Time(seconds))
}

fn offset_seconds(text: &str) -> Option<i64> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = text.get(1..)?.split_once(':')?;
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn digits(text: &str) -> Option<i64> {
    let fits = (1..=4).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if fits { text.parse().ok() } else { None }
}

fn length(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date of the Gregorian calendar (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date so many days from 1970-01-01 (the same source).
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments_are_written_and_read() {
        for (unix, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (1_795_344_312, "2026-11-22T10:45:12Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
            (-62_167_219_200, "0000-01-01T00:00:00Z"),
        ] {
            assert_eq!(Time::from_unix(unix).to_string(), text);
            assert_eq!(text.parse::<Time>().unwrap().unix(), unix, "{text}");
        }
        assert_eq!(Time::from_unix(1_795_344_312).to_minute(), "2026-11-22 10:45");
        let read = |text: &str| text.parse::<Time>().unwrap().unix();
        assert_eq!(read("2026-11-22T12:15:12.75+01:30"), 1_795_344_312);
        assert_eq!(read("2026-11-22 02:45:12-08:00"), 1_795_344_312);
        assert_eq!(read("2016-12-31T23:59:60Z"), read("2016-12-31T23:59:59Z"));
        assert_eq!(Time::from_unix(i64::MAX).to_string(), "9999-12-31T23:59:59Z");
    }

    #[test]
    fn every_day_of_eight_centuries_is_itself_again() {
        for day in -150_000..150_000 {
            let (year, month, of_month) = civil(day);
            assert_eq!(days(year, month, of_month), day);
            assert!((1..=length(year, month)).contains(&of_month), "{year}-{month}-{of_month}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "yesterday",
            "2026-11-22",
            "2026-11-22T10:45:12",
            "2026-13-22T10:45:12Z",
            "2026-02-29T10:45:12Z",
            "2026-11-22T24:00:00Z",
            "2026-11-22T10:45Z",
            "2026-11-22T10:45:12.Z",
            "2026-11-22T10:45:12+1",
            "26-11-22T10:45:12Z",
            "-026-11-22T10:45:12Z",
            "2026-11-22T10:45:12+99:00",
            "0000-01-01T00:00:00+01:00",
        ] {
            let error = text.parse::<Time>().unwrap_err();
            assert!(error.contains("2026-11-22T10:45:12Z"), "{text}: {error}");
        }
    }
}
