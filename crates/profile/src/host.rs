//! Hosts: one a file.

/// A machine of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// The file's stem, as XProf names hosts.
    pub name: String,
    /// Start of the capture, nanoseconds since 1970 (`Task Environment`, stat `profile_start_time`).
    pub start_ns: Option<i64>,
    /// End of the capture, likewise.
    pub stop_ns: Option<i64>,
    /// Start and end of the capture on the run's clock, in picoseconds; `None` where the profiler did not record them.
    pub capture_ps: Option<(i64, i64)>,
    /// What is added to a line's `timestamp_ns`, in picoseconds, to come to the run's clock.
    pub base_ps: i64,
    /// Versions and other facts of the process: stats of `/host:metadata`, by name.
    pub environment: Vec<(String, String)>,
}
