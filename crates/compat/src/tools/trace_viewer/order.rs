//! The order of a trace's events: by start, longer ones first, over all rows. An event is known by its start and its place
//! among those that start with it.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use haloscope_report::stop;
use rayon::prelude::*;

use super::names::Names;
use super::serials::Serials;
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

impl<'a> Head<'a> {
    fn new(tracks: &[Track<'_>], names: &'a Names<'_>, track: usize, at: usize) -> Self {
        let t = &tracks[track];
        let name = if matches!(t.row, Row::Thread(_)) { "" } else { names.get(t.name(at)) };
        let name = if name.len() > LONGEST_COMPARED { "" } else { name };
        Self { start: t.start(at), duration: t.duration(at), pid: t.pid, row: t.row, name, track, at }
    }

    fn key(&self) -> (u64, Reverse<u64>, (u32, u64, &'a str, usize)) {
        (self.start, Reverse(self.duration), self.key_of_track())
    }

    fn key_of_track(&self) -> (u32, u64, &'a str, usize) {
        // Threads come before what is none.
        let thread = if let Row::Thread(tid) = self.row { tid.into() } else { u64::MAX };
        (self.pid, thread, self.name, self.track)
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

/// Calls `visit` with some events of each track, given by position, ascending: in the order of all.
pub(super) fn merge_these(
    tracks: &[Track<'_>],
    names: &Names<'_>,
    these: &[Vec<u32>],
    mut visit: impl FnMut(usize, usize),
) {
    // A row that is not in order is not put in order: an event comes when it is the first of the rows' next ones.
    let latest: Vec<Option<Vec<u32>>> =
        tracks.iter().zip(these).map(|(t, these)| held_up(t, these)).collect();
    let ranks = ranks(tracks, names);
    let head = |track: usize, place: usize| {
        let by = latest[track].as_ref().unwrap_or(&these[track])[place] as usize;
        let t = &tracks[track];
        Reverse((t.start(by), Reverse(t.duration(by)), ranks[track], track as u32, place as u32))
    };
    let mut heap: BinaryHeap<_> =
        (0..tracks.len()).filter(|t| !these[*t].is_empty()).map(|t| head(t, 0)).collect();
    while let Some(mut first) = heap.peek_mut() {
        let Reverse((.., track, place)) = *first;
        let (track, place) = (track as usize, place as usize);
        visit(track, these[track][place] as usize);
        if place + 1 < these[track].len() {
            *first = head(track, place + 1);
        } else {
            PeekMut::pop(first);
        }
    }
}

/// The order of the tracks, by which events of one time are.
fn ranks(tracks: &[Track<'_>], names: &Names<'_>) -> Vec<u32> {
    // The events of what is no thread have one name.
    let firsts = (0..tracks.len()).filter(|track| tracks[*track].len() > 0);
    let mut firsts: Vec<Head<'_>> = firsts.map(|track| Head::new(tracks, names, track, 0)).collect();
    firsts.sort_by(|a, b| a.key_of_track().cmp(&b.key_of_track()));
    let mut ranks = vec![0; tracks.len()];
    for (rank, first) in firsts.iter().enumerate() {
        ranks[first.track] = rank as u32;
    }
    ranks
}

/// For each of these positions the one before it, or itself, that comes latest. In a row in order that is always itself.
fn held_up(track: &Track<'_>, these: &[u32]) -> Option<Vec<u32>> {
    let key = |at: usize| (track.start(at), Reverse(track.duration(at)));
    // Starts ascend: what comes later starts with it.
    let (mut known, mut latest) = (0, 0);
    let of = |at: &u32| {
        let at = *at as usize;
        let is_same = |other: usize| track.start(other) == track.start(at);
        let mut first = at;
        while first > known && is_same(first - 1) {
            first -= 1;
        }
        if first > known || known == 0 || !is_same(known - 1) {
            latest = first;
        }
        for next in first..=at {
            if key(latest) <= key(next) {
                latest = next;
            }
        }
        known = at + 1;
        latest as u32
    };
    let latest: Vec<u32> = these.iter().map(of).collect();
    (latest != these).then_some(latest)
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
    {
        let tracks = &*tracks;
        let pieces = pieces(tracks, &mut serials);
        pieces
            .into_par_iter()
            .for_each(stop::carried(|piece: Vec<Piece<'_>>| number_piece(tracks, names, piece)));
    }
    for (track, serial) in tracks.iter_mut().zip(serials) {
        track.serial = Serials::All(serial);
    }
}

/// Numbers some events of each track, given by position, ascending, and no others.
pub(super) fn number_these(tracks: &mut [Track<'_>], names: &Names<'_>, these: &[Vec<u32>]) {
    let mut starts: Vec<u64> = tracks
        .iter()
        .zip(these)
        .flat_map(|(t, these)| these.iter().map(|at| t.start(*at as usize)))
        .collect();
    starts.sort_unstable();
    starts.dedup();
    let events: usize = tracks.iter().map(Track::len).sum();
    if starts.len().saturating_mul(tracks.len()) > events {
        return number(tracks, names);
    }
    let with_these = |track: &Track<'_>| {
        let (mut at, mut positions) = (0, Vec::new());
        for start in &starts {
            at += first_from(track, at, *start);
            while at < track.len() && track.start(at) == *start {
                positions.push(at as u32);
                at += 1;
            }
        }
        positions
    };
    let all: Vec<Vec<u32>> = tracks.par_iter().map(stop::carried(with_these)).collect();
    let mut serials: Vec<Vec<(u32, u16)>> = all.iter().map(|all| Vec::with_capacity(all.len())).collect();
    let (mut last, mut serial) = (None, 0_u16);
    merge_these(tracks, names, &all, |track, at| {
        let start = tracks[track].start(at);
        serial = if last == Some(start) { serial.saturating_add(1).min(MOST_SERIALS) } else { 0 };
        last = Some(start);
        serials[track].push((at as u32, serial));
    });
    for (track, serial) in tracks.iter_mut().zip(serials) {
        track.serial = Serials::These(serial);
    }
}

/// How many events from `at` on start before `start`: looked for nearby first.
fn first_from(track: &Track<'_>, at: usize, start: u64) -> usize {
    let mut step = 1;
    while at + step < track.len() && track.start(at + step) < start {
        step *= 2;
    }
    let (mut from, mut to) = (at, track.len().min(at + step));
    while from < to {
        let middle = from.midpoint(to);
        if track.start(middle) < start {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    from - at
}

/// The events of a track between two times: the position of the first, and their numbers.
struct Piece<'s> {
    track: usize,
    from: usize,
    serials: &'s mut [u16],
}

/// Cuts all tracks at the same times.
fn pieces<'s>(tracks: &[Track<'_>], serials: &'s mut [Vec<u16>]) -> Vec<Vec<Piece<'s>>> {
    /// Fewer events are not worth a thread.
    const FEWEST: usize = 50_000;
    let events: usize = tracks.iter().map(Track::len).sum();
    let count = (events / FEWEST).min(4 * rayon::current_num_threads());
    let longest = tracks.iter().max_by_key(|t| t.len());
    let cut = |number: usize| longest.map(|t| t.start(t.len() / count.max(1) * number));
    let mut cuts: Vec<u64> = (1..count).filter_map(cut).collect();
    cuts.dedup();
    let mut all: Vec<Vec<Piece<'s>>> = (0..=cuts.len()).map(|_| Vec::new()).collect();
    for ((number, track), serials) in tracks.iter().enumerate().zip(serials) {
        let (mut rest, mut from) = (serials.as_mut_slice(), 0);
        for (piece, cut) in cuts.iter().enumerate() {
            let (own, others) = rest.split_at_mut(first_from(track, from, *cut));
            let length = own.len();
            all[piece].push(Piece { track: number, from, serials: own });
            (rest, from) = (others, from + length);
        }
        all[cuts.len()].push(Piece { track: number, from, serials: rest });
    }
    for pieces in &mut all {
        pieces.retain(|piece| !piece.serials.is_empty());
    }
    all
}

fn number_piece(tracks: &[Track<'_>], names: &Names<'_>, mut pieces: Vec<Piece<'_>>) {
    let start = |piece: &Piece<'_>, at: usize| {
        (at < piece.serials.len()).then(|| tracks[piece.track].start(piece.from + at))
    };
    let first = |(number, piece): (usize, &Piece<'_>)| Some(Reverse((start(piece, 0)?, number)));
    let ranks = ranks(tracks, names);
    let mut heap: BinaryHeap<Reverse<(u64, usize)>> = pieces.iter().enumerate().filter_map(first).collect();
    let mut places = vec![0; pieces.len()];
    let mut same: Vec<usize> = Vec::new();
    while let Some(Reverse((now, number))) = heap.pop() {
        same.push(number);
        while let Some(next) = heap.peek_mut().filter(|next| next.0.0 == now) {
            same.push(PeekMut::pop(next).0.1);
        }
        if same.len() > 1 {
            number_together(tracks, &ranks, &mut pieces, &mut places, &same, now);
        } else {
            // As long as no other row has an event before it or with it, what starts together is in order as it stands.
            let next = heap.peek().map(|next| next.0.0);
            let (piece, at) = (&mut pieces[number], &mut places[number]);
            let (mut last, mut serial) = (None, 0_u16);
            while let Some(now) = start(piece, *at).filter(|now| next.is_none_or(|next| *now < next)) {
                serial = if last == Some(now) { serial.saturating_add(1).min(MOST_SERIALS) } else { 0 };
                last = Some(now);
                piece.serials[*at] = serial;
                *at += 1;
            }
        }
        for number in same.drain(..) {
            if let Some(start) = start(&pieces[number], places[number]) {
                heap.push(Reverse((start, number)));
            }
        }
    }
}

/// Numbers the events of several rows that start now.
fn number_together(
    tracks: &[Track<'_>],
    ranks: &[u32],
    pieces: &mut [Piece<'_>],
    places: &mut [usize],
    same: &[usize],
    now: u64,
) {
    let mut heads: Vec<(Reverse<u64>, u32, usize, usize)> = Vec::with_capacity(same.len());
    for number in same {
        let (piece, at) = (&pieces[*number], &mut places[*number]);
        let t = &tracks[piece.track];
        // The event that one comes with, if it comes later than its own place.
        let mut latest = u64::MAX;
        while *at < piece.serials.len() && t.start(piece.from + *at) == now {
            latest = latest.min(t.duration(piece.from + *at));
            heads.push((Reverse(latest), ranks[piece.track], *at, *number));
            *at += 1;
        }
    }
    heads.sort_unstable();
    for (serial, (.., at, number)) in heads.into_iter().enumerate() {
        pieces[number].serials[at] = serial.min(usize::from(MOST_SERIALS)) as u16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::trace_viewer::tracks::tests::track;

    /// The first of the rows' next events, again and again.
    fn one_by_one(tracks: &[Track<'_>]) -> Vec<(usize, usize)> {
        let names = Names::default();
        let mut places = vec![0; tracks.len()];
        let mut order = Vec::new();
        while let Some(next) = (0..tracks.len())
            .filter(|track| places[*track] < tracks[*track].len())
            .min_by_key(|track| Head::new(tracks, &names, *track, places[*track]).key())
        {
            order.push((next, places[next]));
            places[next] += 1;
        }
        order
    }

    #[test]
    fn events_are_numbered_in_the_order_of_the_rows_next_ones() {
        let mut below = crate::random::numbers();
        for round in 0..100 {
            let mut row = |number: u32| {
                let mut events: Vec<(i64, i64)> = (0..below(60)).map(|_| (below(40), below(6))).collect();
                // Rows that XProf derives are in order of their starts alone.
                events.sort_by_key(|(start, duration)| (*start, if number == 0 { 0 } else { -duration }));
                track(number, &events)
            };
            let mut tracks: Vec<Track<'_>> = (0..4).map(&mut row).collect();
            let (names, order) = (Names::default(), one_by_one(&tracks));
            let mut expected: Vec<Vec<u16>> = tracks.iter().map(|t| vec![0; t.len()]).collect();
            let mut last = None;
            for (track, at) in &order {
                let start = tracks[*track].start(*at);
                let serial = last.filter(|(s, _)| *s == start).map_or(0, |(_, serial)| serial + 1);
                last = Some((start, serial));
                expected[*track][*at] = serial;
            }
            number(&mut tracks, &names);
            for (track, expected) in tracks.iter().zip(&expected) {
                assert_eq!(track.serial, Serials::All(expected.clone()), "round {round}");
            }
            let these: Vec<Vec<u32>> =
                tracks.iter().map(|t| (0..t.len() as u32).filter(|at| at % 7 == 3).collect()).collect();
            let mut visited = Vec::new();
            merge_these(&tracks, &names, &these, |track, at| visited.push((track, at)));
            let wanted = order.iter().copied().filter(|(_, at)| at % 7 == 3);
            assert_eq!(visited, wanted.collect::<Vec<_>>(), "round {round}");
            let few: Vec<Vec<u32>> =
                these.iter().map(|these| these.iter().take(1).copied().collect()).collect();
            number_these(&mut tracks, &names, &few);
            for (track, (few, expected)) in tracks.iter().zip(few.iter().zip(&expected)) {
                for at in few {
                    assert_eq!(track.serial.of(*at as usize), expected[*at as usize], "round {round}");
                }
            }
        }
    }
}
