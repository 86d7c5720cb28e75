//! The order of a trace's events: by start, longer ones first, over all rows. An event is known by its start and its place
//! among those that start with it.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::names::Names;
use super::tracks::{Row, Track};

/// So many events of one start can be told apart; others are left out, as XProf leaves them out.
pub(super) const MOST_SERIALS: u16 = 256;
/// Longer names are not compared, since XProf keeps them elsewhere.
const LONGEST_COMPARED: usize = 32;

struct Head<'a> {
    start: u64,
    duration: u64,
    pid: u32,
    row: Row,
    name: &'a str,
    track: usize,
    at: usize,
}

impl Head<'_> {
    fn key(&self) -> (u64, Reverse<u64>, u32, u64, &str, usize) {
        // Threads come before what is none.
        let thread = if let Row::Thread(tid) = self.row { tid.into() } else { u64::MAX };
        (self.start, Reverse(self.duration), self.pid, thread, self.name, self.track)
    }
}

impl PartialEq for Head<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Head<'_> {}
impl PartialOrd for Head<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Head<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// Calls `visit` with the track and the position of every event, in order.
pub(super) fn merge(tracks: &[Track<'_>], names: &Names<'_>, mut visit: impl FnMut(usize, usize)) {
    let head = |track: usize, at: usize| {
        let t = &tracks[track];
        let name = if matches!(t.row, Row::Thread(_)) { "" } else { names.get(t.name(at)) };
        let name = if name.len() > LONGEST_COMPARED { "" } else { name };
        Reverse(Head {
            start: t.start(at),
            duration: t.duration(at),
            pid: t.pid,
            row: t.row,
            name,
            track,
            at,
        })
    };
    let mut heap: BinaryHeap<_> =
        (0..tracks.len()).filter(|t| tracks[*t].len() > 0).map(|t| head(t, 0)).collect();
    while let Some(Reverse(first)) = heap.pop() {
        let (track, mut at) = (first.track, first.at);
        let next = heap.peek().map(|Reverse(next)| next.start);
        visit(track, at);
        at += 1;
        // As long as the row goes on before any other row does, nothing needs to be compared.
        while at < tracks[track].len() && next.is_none_or(|next| tracks[track].start(at) < next) {
            visit(track, at);
            at += 1;
        }
        if at < tracks[track].len() {
            heap.push(head(track, at));
        }
    }
}

/// Calls `visit` with the events of several lists, each in order, in order. Here names count within a row too.
pub(super) fn merge_lists(
    lists: &[Vec<(u32, u32)>],
    tracks: &[Track<'_>],
    names: &Names<'_>,
    mut visit: impl FnMut(usize, usize),
) {
    let head = |list: usize, place: usize| {
        let (track, at) = lists[list].get(place).map(|(track, at)| (*track as usize, *at as usize))?;
        let t = &tracks[track];
        let name = names.get(t.name(at));
        let name = if name.len() > LONGEST_COMPARED { "" } else { name };
        let (start, duration) = (t.start(at), t.duration(at));
        Some((Head { start, duration, pid: t.pid, row: t.row, name, track, at }, list))
    };
    let mut places = vec![0; lists.len()];
    let mut heads: Vec<_> = (0..lists.len()).filter_map(|list| head(list, 0)).collect();
    while let Some(first) = (0..heads.len()).min_by(|a, b| heads[*a].0.cmp(&heads[*b].0)) {
        let (Head { track, at, .. }, list) = heads[first];
        visit(track, at);
        places[list] += 1;
        match head(list, places[list]) {
            Some(next) => heads[first] = next,
            None => drop(heads.swap_remove(first)),
        }
    }
}

/// Numbers the events of each start.
pub(super) fn number(tracks: &mut [Track<'_>], names: &Names<'_>) {
    let mut serials: Vec<Vec<u16>> = tracks.iter().map(|t| vec![0; t.len()]).collect();
    let mut last = None;
    let mut serial: u16 = 0;
    merge(tracks, names, |track, at| {
        let start = tracks[track].start(at);
        serial = if last == Some(start) { serial.saturating_add(1).min(MOST_SERIALS) } else { 0 };
        last = Some(start);
        serials[track][at] = serial;
    });
    for (track, serial) in tracks.iter_mut().zip(serials) {
        track.serial = serial;
    }
}
