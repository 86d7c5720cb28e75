//! The ruler: when each step of the run began and ended, over all devices.

use super::Timeline;
use haloscope_profile::{Device, Profile};
use haloscope_time::steps::{StepClass, Steps};

/// The steps of a run, for a ruler.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Ruler {
    /// How steps were found or why there are none, in words.
    pub source: String,
    /// True if no marker says where they begin.
    pub inferred: bool,
    /// By start.
    pub steps: Vec<RulerStep>,
}

/// A step over all devices.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct RulerStep {
    /// The marker's number, else counted from 0.
    pub number: i64,
    /// The marker's name; empty where there is none.
    pub name: String,
    /// When the first device began it, picoseconds on the run's clock.
    pub start_ps: i64,
    /// When the last device ended it.
    pub end_ps: i64,
    /// `steady`, `warm-up`, `cut` (at the edge of the capture) or `outlier`.
    pub class: &'static str,
    /// Number of devices that ran it.
    pub devices: usize,
}

impl Timeline {
    /// The steps of all devices.
    #[must_use]
    pub fn steps(&self) -> Ruler {
        let steps = self.kept.steps(&self.profile);
        let row = |step: &haloscope_time::steps::Step| RulerStep {
            number: step.number,
            name: step.name.clone(),
            start_ps: step.start_ps(),
            end_ps: step.instances.iter().map(|i| i.end_ps).max().unwrap_or(0),
            class: match step.class {
                StepClass::Edge => "cut",
                class => class.word(),
            },
            devices: step.instances.len(),
        };
        Ruler {
            source: steps.source.explain(),
            inferred: steps.source.is_inferred(),
            steps: steps.rows.iter().map(row).collect(),
        }
    }
}

/// The steps of all devices that ran anything.
pub(super) fn steps_of(profile: &Profile) -> Steps {
    let devices: Vec<&Device> = profile.devices.iter().filter(|d| d.active).collect();
    Steps::find(profile, &devices)
}
