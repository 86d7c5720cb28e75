//! Folded stacks: `plane;line;outer;inner WEIGHT`, a line a stack, sorted.
//!
//! The weight is self time in whole picoseconds, so that nothing is rounded: an event's time less that of the events
//! directly inside it, by the clock and the nesting that the op tables use, cut to the window. Lines are views of the same
//! time: weights of two of them are not to be added.

use std::collections::BTreeMap;
use std::io::{self, Write};

use rustc_hash::FxHashMap;

use haloscope_profile::{Event, Line, LineKind};

use super::choose::ChosenPlane;
use super::counters::Samples;
use super::facts::{LineFacts, PlaneFacts};
use super::walk::touches;
use super::{Export, Stacks, Written};
use crate::label;

/// Distinct stacks of one line as a tree: of each node its parent and its name.
#[derive(Debug, Default)]
struct Tree {
    nodes: Vec<(Option<u32>, u32, i64)>,
    node_of: FxHashMap<(Option<u32>, u32), u32>,
    names: Vec<String>,
    name_of: FxHashMap<String, u32>,
}

impl Tree {
    fn node(&mut self, parent: Option<u32>, frame: &str) -> u32 {
        let name = match self.name_of.get(frame) {
            Some(name) => *name,
            None => {
                let name = self.names.len() as u32;
                self.names.push(frame.to_owned());
                self.name_of.insert(frame.to_owned(), name);
                name
            }
        };
        *self.node_of.entry((parent, name)).or_insert_with(|| {
            self.nodes.push((parent, name, 0));
            self.nodes.len() as u32 - 1
        })
    }

    fn add(&mut self, node: u32, weight_ps: i64) {
        if let Some((_, _, weight)) = self.nodes.get_mut(node as usize) {
            *weight = weight.saturating_add(weight_ps);
        }
    }

    /// All stacks with a weight, as texts.
    fn stacks(&self) -> BTreeMap<String, i64> {
        let mut texts: Vec<String> = Vec::with_capacity(self.nodes.len());
        let mut stacks = BTreeMap::new();
        for (parent, name, weight) in &self.nodes {
            // A node stands behind its parent.
            let mut text = match parent {
                Some(parent) => texts[*parent as usize].clone() + ";",
                None => String::new(),
            };
            text.extend(self.names[*name as usize].chars().map(clean));
            if *weight > 0 {
                let total: &mut i64 = stacks.entry(text.clone()).or_default();
                *total = total.saturating_add(*weight);
            }
            texts.push(text);
        }
        stacks
    }
}

/// What separates frames and lines stands in no name.
fn clean(c: char) -> char {
    match c {
        ';' => ',',
        c if c.is_control() => ' ',
        c => c,
    }
}

pub(super) fn write(export: &Export<'_>, out: &mut dyn Write) -> io::Result<Written> {
    let mut written = Written::default();
    for chosen in &export.chosen.planes {
        let facts = PlaneFacts::of(export.profile, chosen);
        for (line, name) in &chosen.lines {
            if Samples::of(export.profile, chosen.plane, line).is_some() {
                continue;
            }
            let mut tree = Tree::default();
            let plane = tree.node(None, &chosen.name);
            let root = tree.node(Some(plane), name);
            let events = of_line(export, chosen, line, &mut facts.line(line), &mut tree, root);
            written.events += events;
            written.tracks += u64::from(events > 0);
            for (stack, weight) in tree.stacks() {
                writeln!(out, "{stack} {weight}")?;
            }
        }
    }
    Ok(written)
}

/// Adds the events of a line to the tree; how many there are.
fn of_line<'p>(
    export: &Export<'p>,
    chosen: &ChosenPlane<'p>,
    line: &'p Line,
    facts: &mut LineFacts<'_, 'p>,
    tree: &mut Tree,
    root: u32,
) -> u64 {
    let events = export.profile.events(line);
    let window = chosen.window.as_ref();
    // The op tables' clocks: the device's own, which also says how ops nest; with a window, the run's.
    let placed = |i| if window.is_none() { events.on_device_clock(i) } else { events.placed(i) };
    let mut all: Vec<Event> = (0..events.len())
        .filter(|&i| touches(window, &events.get(i)) && facts.is_of(&events.get(i), &export.chosen.modules))
        .map(placed)
        .collect();
    let key = |e: &Event| (e.start_ps, e.start_ps - e.end_ps);
    if !all.is_sorted_by_key(key) {
        all.sort_by_key(key);
    }
    let length = |e: &Event| window.map_or(e.end_ps - e.start_ps, |w| w.overlap(e.start_ps, e.end_ps));
    // Events of these lines overlap without belonging to each other.
    let nests = line.kind != LineKind::AsyncXlaOps;
    let mut open: Vec<(Event, u32)> = Vec::new();
    for event in &all {
        let holds = |top: &Event| nests && top.start_ps <= event.start_ps && event.end_ps <= top.end_ps;
        while open.pop_if(|(top, _)| !holds(top)).is_some() {}
        let length = length(event);
        let parent = open.last().map(|(_, node)| *node);
        if let Some(parent) = parent {
            tree.add(parent, -length);
        }
        let name = label(export.profile, chosen.plane, event.meta);
        let known = facts.facts(event);
        let scope = known.scope.filter(|_| export.stacks == Stacks::Scope);
        let node = match scope {
            Some(scope) => {
                let path = scope.split('/').filter(|part| !part.is_empty());
                let node = path.fold(root, |node, part| tree.node(Some(node), part));
                tree.node(Some(node), &name)
            }
            None => tree.node(Some(parent.unwrap_or(root)), &name),
        };
        tree.add(node, length);
        open.push((*event, node));
    }
    all.len() as u64
}
