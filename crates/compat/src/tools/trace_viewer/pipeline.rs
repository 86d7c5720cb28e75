//! The order of a pipeline's stages: programs are named `…_layer_3.step(…)` or, for layers 3 to 5, `…_layer_3_5.step(…)`,
//! and a device that runs an earlier layer of a program is shown before those that run later ones.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::json::Part;

/// The first layer of each program by process.
type Layers = BTreeMap<u32, BTreeMap<String, u32>>;

/// The layer and the program that an event's name says.
fn layer(name: &str) -> Option<(u32, &str)> {
    const MARK: &str = "_layer_";
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    name.match_indices(MARK).find_map(|(at, _)| {
        let rest = &name[at + MARK.len()..];
        let (number, rest) = rest.split_at(digits(rest));
        let second = rest.strip_prefix('_').map(|part| part.split_at(digits(part)));
        let (second, program) = match second.and_then(|(n, behind)| Some((n, behind.strip_prefix('.')?))) {
            Some((second, program)) if !second.is_empty() => (second, program),
            _ => (number, rest.strip_prefix('.')?),
        };
        let program = program.split('(').next().filter(|p| !p.is_empty())?;
        let (first, second): (u32, u32) = (number.parse().ok()?, second.parse().ok()?);
        // The lesser of the two, whichever stands first.
        Some((first.min(second), program))
    })
}

fn layers(parts: &[Part<'_, '_>]) -> Layers {
    let mut layers = Layers::new();
    for (trace, shown) in parts {
        let mut known: FxHashMap<u32, Option<(u32, &str)>> = FxHashMap::default();
        for (track, shown) in trace.tracks.iter().zip(shown.iter()) {
            let mut note = |at: usize| {
                let name = track.name(at);
                let Some((layer, program)) =
                    *known.entry(name).or_insert_with(|| layer(trace.names.get(name)))
                else {
                    return;
                };
                let first = layers.entry(track.pid).or_default().entry(program.to_owned()).or_insert(layer);
                *first = layer.min(*first);
            };
            match shown {
                Some(shown) => shown.iter().for_each(|at| note(*at as usize)),
                None => (0..track.len()).for_each(note),
            }
        }
    }
    layers
}

/// What is added to the number of a process that takes no part, to come behind those that do.
const BEHIND: u32 = 1 << 30;

/// Places of the processes: by program, then by layer, then by number. Empty where no process takes part.
pub(super) fn order(parts: &[Part<'_, '_>]) -> BTreeMap<u32, u32> {
    let mut order = sort(&layers(parts));
    if !order.is_empty() {
        for pid in parts.iter().flat_map(|(trace, _)| trace.processes.keys()) {
            order.entry(*pid).or_insert_with(|| pid.saturating_add(BEHIND));
        }
    }
    order
}

fn sort(layers: &Layers) -> BTreeMap<u32, u32> {
    let mut stages: Vec<(&str, u32, u32)> = Vec::new();
    for (pid, programs) in layers {
        stages.extend(programs.iter().map(|(program, layer)| (program.as_str(), *layer, *pid)));
    }
    stages.sort_unstable();
    let mut order = BTreeMap::new();
    for (.., pid) in stages {
        let place = order.len() as u32;
        order.entry(pid).or_insert(place);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_layer_and_program() {
        assert_eq!(layer("p2_layer_0_1.prefill_step(18163508075296385240)"), Some((0, "prefill_step")));
        assert_eq!(layer("p2_layer_12.decode"), Some((12, "decode")));
        assert_eq!(layer("p2_layer_4_2.decode(1)"), Some((2, "decode")));
        assert_eq!(layer("x_layer_.y_layer_3.z"), Some((3, "z")));
        assert_eq!(layer("layer_3.z"), None);
        assert_eq!(layer("a_layer_3_b.z"), None);
        assert_eq!(layer("a_layer_3.(7)"), None);
    }

    #[test]
    fn processes_are_sorted_by_program_and_layer() {
        let places = |of: &[(u32, &str, u32)]| {
            let mut layers = Layers::new();
            for (pid, program, layer) in of {
                layers.entry(*pid).or_default().insert((*program).to_owned(), *layer);
            }
            sort(&layers).into_values().collect::<Vec<_>>()
        };
        // Asked of XProf 2.24.2 with the same programs on devices 0, 1, ….
        assert_eq!(places(&[(0, "s", 2), (1, "s", 0), (2, "s", 1)]), [2, 0, 1]);
        assert_eq!(places(&[(0, "b", 1), (1, "b", 0), (2, "a", 1), (3, "a", 0)]), [3, 2, 1, 0]);
        assert_eq!(places(&[(0, "b", 1), (1, "a", 1), (1, "b", 0), (2, "a", 0)]), [2, 1, 0]);
        assert_eq!(places(&[(0, "a", 0), (0, "b", 1), (1, "b", 0), (1, "a", 1), (2, "c", 5)]), [0, 1, 2]);
    }
}
