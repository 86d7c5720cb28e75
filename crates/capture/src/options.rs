//! What a profiler is asked to record.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::Error;
use crate::proto::{Advanced, ProfileOptions, TraceOptions, Value};

/// The version of `ProfileOptions` that says its levels are meant.
const VERSION: u32 = 1;
/// Levels above this one do not exist.
const HIGHEST_LEVEL: u32 = 3;

/// The value of an advanced option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// A text.
    Text(String),
    /// True or false.
    Flag(bool),
    /// An integer.
    Whole(i64),
}

impl Setting {
    /// The setting that a text stands for: `true` and `false` in any case are flags, integers whole numbers, all else is text.
    /// What stands in double quotes is text without them.
    #[must_use]
    pub fn read(text: &str) -> Self {
        if let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            return Self::Text(inner.to_owned());
        }
        if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") {
            return Self::Flag(text.eq_ignore_ascii_case("true"));
        }
        text.parse().map_or_else(|_| Self::Text(text.to_owned()), Self::Whole)
    }

    fn to_proto(&self) -> Advanced {
        let value = match self {
            Self::Text(text) => Value::Text(text.clone()),
            Self::Flag(flag) => Value::Flag(*flag),
            Self::Whole(whole) => Value::Whole(*whole),
        };
        Advanced { value: Some(value) }
    }
}

/// What a profiler is asked to record. The default is what XProf's capture dialog asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Events of the host's threads: 0 none, 1 those of the program, 2 and what is expensive in the runtime, 3 all.
    pub host_tracer_level: u32,
    /// Events of devices: 0 none, 1 all.
    pub device_tracer_level: u32,
    /// Calls of Python functions: 0 none, 1 all. Costs the program much.
    pub python_tracer_level: u32,
    /// Whether ops of TensorFlow's input pipelines are recorded.
    pub include_dataset_ops: bool,
    /// Whether the programs come with the profile. Without them there are no FLOPs, shapes or memory.
    pub enable_hlo_proto: bool,
    /// Which host events are recorded, a bit a kind; `None` leaves it to the server.
    pub host_traceme_filter_mask: Option<u64>,
    /// Whether a tracer that does not start is an error, rather than a profile that lacks its part.
    pub raise_error_on_start_failure: bool,
    /// Whether GPU counters may replay kernels.
    pub enable_multipass: bool,
    /// All other options by name, such as `tpu_trace_mode`. A name that a server does not know is passed over there.
    pub advanced: BTreeMap<String, Setting>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            host_tracer_level: 2,
            device_tracer_level: 1,
            python_tracer_level: 0,
            include_dataset_ops: true,
            enable_hlo_proto: true,
            host_traceme_filter_mask: None,
            raise_error_on_start_failure: false,
            enable_multipass: false,
            advanced: BTreeMap::new(),
        }
    }
}

impl Options {
    /// The default with `key=value` pairs set, see [`Options::set`].
    ///
    /// # Errors
    /// [`Error::Usage`] where one has no `=` or a value that its option does not take.
    pub fn parse<'a>(pairs: impl IntoIterator<Item = &'a str>) -> Result<Self, Error> {
        let mut options = Self::default();
        for pair in pairs {
            options.set_pair(pair)?;
        }
        Ok(options)
    }

    /// Sets an option from `key=value`.
    ///
    /// # Errors
    /// As [`Options::parse`].
    pub fn set_pair(&mut self, pair: &str) -> Result<(), Error> {
        match pair.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => self.set(key.trim(), value.trim()),
            _ => Err(Error::Usage(format!(
                "expected an option as name=value, such as tpu_trace_mode=TRACE_COMPUTE, found `{pair}`"
            ))),
        }
    }

    /// Sets the option `key`: one of those that have a field here, else an advanced one (see [`Setting::read`]).
    ///
    /// # Errors
    /// [`Error::Usage`] for a value that the option does not take.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), Error> {
        match key {
            "host_tracer_level" => self.host_tracer_level = level(key, value)?,
            "device_tracer_level" => self.device_tracer_level = level(key, value)?,
            "python_tracer_level" => self.python_tracer_level = level(key, value)?,
            "include_dataset_ops" => self.include_dataset_ops = flag(key, value)?,
            "enable_hlo_proto" => self.enable_hlo_proto = flag(key, value)?,
            "raise_error_on_start_failure" => self.raise_error_on_start_failure = flag(key, value)?,
            "enable_multipass" => self.enable_multipass = flag(key, value)?,
            "host_traceme_filter_mask" => {
                let mask = value.parse().map_err(|_| wrong(key, "a whole number", value))?;
                self.host_traceme_filter_mask = Some(mask);
            }
            _ => {
                self.advanced.insert(key.to_owned(), Setting::read(value));
            }
        }
        Ok(())
    }

    /// The message, for a capture of this length.
    pub(crate) fn to_proto(&self, session: &str, duration: Duration, start_ns: u64) -> ProfileOptions {
        let trace = self.host_traceme_filter_mask;
        let advanced: BTreeMap<_, _> =
            self.advanced.iter().map(|(key, setting)| (key.clone(), setting.to_proto())).collect();
        ProfileOptions {
            version: VERSION,
            include_dataset_ops: self.include_dataset_ops,
            host_tracer_level: self.host_tracer_level,
            device_tracer_level: self.device_tracer_level,
            python_tracer_level: self.python_tracer_level,
            enable_hlo_proto: self.enable_hlo_proto,
            start_timestamp_ns: start_ns,
            duration_ms: milliseconds(duration),
            trace_options: trace.map(|host_traceme_filter_mask| TraceOptions { host_traceme_filter_mask }),
            advanced_configuration: advanced,
            raise_error_on_start_failure: self.raise_error_on_start_failure,
            session_id: session.to_owned(),
            enable_multipass: self.enable_multipass,
            ..ProfileOptions::default()
        }
    }
}

/// A duration as the protocol has it.
pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn level(key: &str, value: &str) -> Result<u32, Error> {
    let level = value.parse().ok().filter(|level| *level <= HIGHEST_LEVEL);
    level.ok_or_else(|| wrong(key, "a level from 0 to 3", value))
}

fn flag(key: &str, value: &str) -> Result<bool, Error> {
    match Setting::read(value) {
        Setting::Flag(flag) => Ok(flag),
        Setting::Whole(0) => Ok(false),
        Setting::Whole(1) => Ok(true),
        _ => Err(wrong(key, "true or false", value)),
    }
}

fn wrong(key: &str, expected: &str, found: &str) -> Error {
    Error::Usage(format!("option {key}: expected {expected}, found `{found}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_what_xprof_makes_of_them() {
        assert_eq!(Setting::read("TRUE"), Setting::Flag(true));
        assert_eq!(Setting::read("-7"), Setting::Whole(-7));
        assert_eq!(Setting::read("TRACE_COMPUTE"), Setting::Text("TRACE_COMPUTE".into()));
        assert_eq!(Setting::read("\"7\""), Setting::Text("7".into()));
        assert_eq!(Setting::read("1.5"), Setting::Text("1.5".into()));
    }

    #[test]
    fn known_options_have_fields_and_others_are_advanced() {
        let asked = ["python_tracer_level=1", "tpu_trace_mode=TRACE_ONLY_HOST", "enable_hlo_proto=0", "n=3"];
        let options = Options::parse(asked).unwrap();
        assert_eq!((options.python_tracer_level, options.enable_hlo_proto), (1, false));
        assert_eq!(options.advanced.len(), 2);
        assert_eq!(options.advanced["n"], Setting::Whole(3));
        let proto = options.to_proto("s", Duration::from_millis(1500), 9);
        assert_eq!((proto.version, proto.duration_ms, proto.start_timestamp_ns), (1, 1500, 9));
        assert_eq!(proto.advanced_configuration["n"].value, Some(Value::Whole(3)));
        assert_eq!(proto.trace_options, None);
    }

    #[test]
    fn a_wrong_value_is_named() {
        let said = |pair: &str| Options::parse([pair]).unwrap_err().to_string();
        assert_eq!(
            said("host_tracer_level=9"),
            "option host_tracer_level: expected a level from 0 to 3, found `9`"
        );
        assert!(said("tpu_trace_mode").starts_with("expected an option as name=value"));
        assert!(said("enable_hlo_proto=perhaps").contains("expected true or false, found `perhaps`"));
    }
}
