//! What a timeline may be asked for.

use haloscope_profile::HostId;

use crate::{Error, Hosts, Param, Params};

pub(super) const PARAMS: &[Param] = &[
    Param {
        id: "resolution",
        doc: "how many events side by side can be told apart; 0 for all [default: 8000]",
    },
    Param { id: "start_time_ms", doc: "start of the window in milliseconds [default: 0]" },
    Param { id: "end_time_ms", doc: "end of the window in milliseconds; 0 for the trace's [default: 0]" },
    Param {
        id: "full_dma",
        doc: "true: parts of transfers between their start and end too [default: false]",
    },
    Param {
        id: "enable_legacy_dcn",
        doc: "true: lines of network traffic put together from messages [default: false]",
    },
    Param {
        id: "mpmd_pipeline_view",
        doc: "true: devices in the order of a pipeline's stages [default: false]",
    },
    Param { id: "event_name", doc: "one event, with all it carries: its name; with the three below" },
    Param { id: "duration_ms", doc: "of that event: its duration in milliseconds" },
    Param { id: "unique_id", doc: "of that event: its `uid`, the how-manieth event of its start it is" },
    Param { id: "search_prefix", doc: "events whose names begin so" },
    Param { id: "search_metadata", doc: "true: with all that the events found carry [default: false]" },
    Param {
        id: "format",
        doc: "json, or pb: a message TraceDataResponse in a Zstandard frame [default: json]",
    },
];

/// A question about a timeline.
#[derive(Debug)]
pub(super) struct Question<'a> {
    pub(super) hosts: Vec<HostId>,
    pub(super) choice: Choice<'a>,
    pub(super) full_dma: bool,
    pub(super) pipeline: bool,
    pub(super) proto: bool,
}

/// Which events are asked for.
#[derive(Debug)]
pub(super) enum Choice<'a> {
    /// Those of a window, as far as they can be told apart.
    Window { start_ps: u64, end_ps: u64, resolution: f64 },
    /// Those whose names begin so.
    Prefix { prefix: &'a str, with_args: bool },
    /// One.
    One { name: &'a str, start_ps: u64, duration_ps: u64, serial: u64 },
}

impl<'a> Question<'a> {
    pub(super) fn read(profile: &haloscope_profile::Profile, params: &'a Params) -> Result<Self, Error> {
        let number = |key: &str| -> Result<f64, Error> {
            let value: f64 = params.number(key)?.unwrap_or(0.0);
            if value.is_finite() && value >= 0.0 {
                return Ok(value);
            }
            Err(Error::Usage(format!("`{key}`: expected a number from 0 on, found `{value}`")))
        };
        let ps = |key: &str| number(key).map(|ms| (ms * 1e9).round() as u64);
        // A window's ends are cut, those of an event rounded, as XProf does.
        let cut = |key: &str| number(key).map(|ms| (ms * 1e9) as u64);
        // Without a word, XProf's server asks for as much as its page has room for.
        let resolution =
            params.number("resolution")?.map_or(Ok(8000.0), |_: f64| number("resolution"))?.trunc();
        let (start_ps, duration_ps) = (ps("start_time_ms")?, ps("duration_ms")?);
        let window = (cut("start_time_ms")?, cut("end_time_ms")?);
        let (serial, with_args) = (number("unique_id")? as u64, params.flag("search_metadata")?);
        params.flag("enable_legacy_dcn")?;
        let choice = match (params.get("event_name"), params.get("search_prefix")) {
            (Some(name), _) => Choice::One { name, start_ps, duration_ps, serial },
            (None, Some(prefix)) => Choice::Prefix { prefix, with_args },
            (None, None) => Choice::Window { start_ps: window.0, end_ps: window.1, resolution },
        };
        let proto = params.choice("format", &["json", "pb"])? == "pb";
        Ok(Self {
            hosts: Hosts::Several.chosen(profile, params)?,
            proto: proto && !matches!(choice, Choice::One { .. }),
            choice,
            full_dma: params.flag("full_dma")?,
            pipeline: params.flag("mpmd_pipeline_view")?,
        })
    }

    /// True if events are answered with all that they carry.
    pub(super) fn with_args(&self) -> bool {
        matches!(self.choice, Choice::One { .. } | Choice::Prefix { with_args: true, .. })
    }
}
