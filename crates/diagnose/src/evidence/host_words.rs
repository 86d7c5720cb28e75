//! What a part of the time between programs looks like in words and links.

use super::Evidence;
use super::host::{Part, Stretch};
use super::host_events::{Doing, Named, doing};
use haloscope_report::Link;
use haloscope_report::units;

/// What the host does with results before it launches the next program, where that is most of what reads cost.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BehindReads {
    /// The event, such as `$train.py:20 log`.
    pub name: String,
    /// The same in words, with what it mostly is.
    pub words: String,
    /// Its time while devices have no program for a read, picoseconds, summed over hosts.
    pub ps: i64,
}

/// An event behind reads with this part of what they cost is what the host does there.
const MOST: f64 = 0.5;

impl Evidence<'_> {
    /// What the host does behind its reads, where one event is most of what they cost.
    pub(crate) fn behind_reads(&self) -> Option<BehindReads> {
        let host = self.host();
        let of_ps = host.part(Doing::Read).ps;
        let (outer, inner) = &host.behind_reads;
        let most =
            |named: &[Named]| named.first().filter(|one| one.ps as f64 >= MOST * of_ps as f64).cloned();
        let Named { name, ps, .. } = most(outer).filter(|one| doing(&one.name).is_none())?;
        let within = most(inner).filter(|inner| inner.name != name);
        let words =
            within.map_or_else(|| format!("`{name}`"), |inner| format!("`{name}` (`{}`)", inner.name));
        Some(BehindReads { name, words, ps })
    }

    /// A part as a share of the active window.
    pub(crate) fn share_of(&self, part: &Part) -> f64 {
        self.of_active(part.ps as f64)
    }

    /// The shares of the active window that would go with a doing beyond its own part, by the rule that claims each. Steps that are longer for
    /// compiling count with all that they have more of ([`Self::compile_cost`]): of these nothing goes besides.
    pub(crate) fn goes_with(&self, main: Doing) -> Vec<(&'static str, f64)> {
        let part = if main == Doing::Compile { self.compile_cost().elsewhere } else { 1.0 };
        let of = self.host().goes_with.iter().filter(|((one, _), _)| *one == main);
        of.map(|((_, other), ps)| (rule_of(*other), part * self.of_active(*ps as f64))).collect()
    }

    /// The event with most time in a part, the longest stretch: `block_until_ready 20 times, 690.0 us each; …`.
    pub(crate) fn words_of(&self, part: &Part) -> String {
        let mut all = Vec::new();
        all.extend(part.names.first().map(|named| self.event_words(named)));
        all.extend(part.longest.map(|stretch| {
            format!(
                "{} gaps, the longest {} on {}",
                part.count,
                units::duration_ps((stretch.end_ps - stretch.start_ps) as f64),
                self.profile.device(stretch.device).name
            )
        }));
        all.join("; ")
    }

    /// `block_until_ready 20 times, 690.0 us each`, with the host where there are several.
    pub(crate) fn event_words(&self, named: &Named) -> String {
        let host = &self.profile.host(named.host).name;
        let on = if self.profile.hosts.len() > 1 { format!(" on {host}") } else { String::new() };
        let each = units::duration_ps(named.total_ps as f64 / named.count.max(1) as f64);
        if named.count == 1 {
            format!("`{}` once{on}, {each}", named.name)
        } else {
            format!("`{}` {} times{on}, {each} each", named.name, named.count)
        }
    }

    /// The host's event, the table of gaps, the longest stretch on the timeline.
    pub(crate) fn links_of(&self, part: &Part) -> Vec<Link> {
        let host = Link::to("ops").param("on", "host");
        let mut links = Vec::new();
        links.extend(part.names.first().map(|named| host.row("ops", &named.name)));
        links.push(Link::to("idle").table("gaps"));
        links.extend(part.longest.map(|stretch| self.timeline_at(&stretch)));
        links
    }

    /// A stretch on the timeline, with a tenth of it on either side.
    pub(crate) fn timeline_at(&self, stretch: &Stretch) -> Link {
        let margin = (stretch.end_ps - stretch.start_ps) / 10 + 1;
        let link = Link::to("timeline").device(&self.profile.device(stretch.device).name);
        link.window(stretch.start_ps.saturating_sub(margin), stretch.end_ps.saturating_add(margin))
    }
}

/// The rule that claims the time in which hosts do this.
fn rule_of(doing: Doing) -> &'static str {
    match doing {
        Doing::Compile => "compilation_in_window",
        Doing::Callback => "debug_callbacks",
        Doing::Check => "debug_checks",
        Doing::Read => "blocking_reads",
        Doing::Transfer => "large_transfers",
        Doing::Launch => "launch_bound",
        Doing::Input => "input_bound",
        Doing::Other => "host_bound",
    }
}
