//! The timeline over HTTP: how long the first list of tracks takes, and tiles of windows at all places and zooms. XProf is
//! asked for the same windows by its `trace_viewer@`, in one process that has answered once before.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde_json::Value;

use super::peers::Peer;
use super::server::Server;
use crate::talk;

/// Tiles of each kind.
const REQUESTS: usize = 200;
/// Windows that a peer is asked for: its answers take long.
const PEER_REQUESTS: usize = 20;
/// The width of a page.
const PX: u32 = 1500;
/// The longest that the slowest hundredth of tiles may take, seconds.
const BUDGET_S: f64 = 0.010;
/// The smallest window is the run divided by ten to this power.
const ZOOM: f64 = 5.0;

/// What was measured of the timeline of one profile.
#[derive(Debug, Serialize)]
pub(super) struct Timeline {
    /// The first list of tracks, for which the server opens the run and lays out all lines, seconds.
    pub(super) first_tracks_s: f64,
    /// The list again.
    pub(super) tracks_s: f64,
    pub(super) tiles: Vec<Tiles>,
    pub(super) peers: Vec<Windows>,
    /// Peak of the server's resident memory, the mapped file among it, bytes; where the system says it.
    pub(super) peak_bytes: Option<u64>,
    /// The windows, picoseconds.
    #[serde(skip)]
    windows: Vec<(i64, i64)>,
    /// How long the first tiles of all devices took, seconds.
    #[serde(skip)]
    took: Vec<f64>,
}

/// Tiles of some tracks.
#[derive(Debug, Serialize)]
pub(super) struct Tiles {
    pub(super) of: &'static str,
    pub(super) tracks: usize,
    /// From the request to the last byte, seconds.
    pub(super) p50_s: f64,
    pub(super) p99_s: f64,
    /// In the server, by its own clock.
    pub(super) server_p99_s: f64,
    /// Mean size.
    pub(super) bytes: usize,
}

/// The same windows, of a peer and of ours.
#[derive(Debug, Serialize)]
pub(super) struct Windows {
    pub(super) id: &'static str,
    pub(super) label: String,
    pub(super) theirs_p50_s: f64,
    pub(super) theirs_p99_s: f64,
    pub(super) ours_p50_s: f64,
    pub(super) ours_p99_s: f64,
}

/// Measures one profile; what a peer cannot do goes to `left_out`.
pub(super) fn measure(
    path: &Path,
    binary: &Path,
    peers: &[Peer],
    left_out: &mut Vec<String>,
) -> Result<Timeline> {
    talk(&format!("timeline: {REQUESTS} tiles of each kind"));
    let mut server = Server::start(binary, path, &[])?;
    let mut found = of_server(&mut server)?;
    drop(server);
    let ours = std::mem::take(&mut found.took);
    let in_ms: Vec<_> =
        found.windows.iter().take(PEER_REQUESTS).map(|w| [w.0 as f64 / 1e9, w.1 as f64 / 1e9]).collect();
    for peer in peers {
        talk(&format!("{}: {PEER_REQUESTS} windows of the timeline", peer.id));
        match peer.windows(path, &in_ms) {
            Ok(took) => found.peers.push(Windows {
                id: peer.id,
                label: format!("{}, trace_viewer@", peer.id),
                theirs_p50_s: quantile(&took, 0.5),
                theirs_p99_s: quantile(&took, 0.99),
                ours_p50_s: quantile(&ours, 0.5),
                ours_p99_s: quantile(&ours, 0.99),
            }),
            Err(error) => left_out.push(format!("{}, windows of the timeline: {error:#}", peer.id)),
        }
    }
    Ok(found)
}

/// The list of tracks and the tiles of a server over one run.
pub(super) fn of_server(server: &mut Server) -> Result<Timeline> {
    let first = server.get("/api/timeline/tracks")?;
    let again = server.get("/api/timeline/tracks")?;
    let tracks: Value = serde_json::from_slice(&again.body)?;
    let (start_ps, end_ps) = (tracks["start_ps"].as_i64(), tracks["end_ps"].as_i64());
    let (start_ps, end_ps) = start_ps.zip(end_ps).context("tracks without a start or end")?;
    let groups = tracks["groups"].as_array().context("tracks without groups")?;
    let ids = |groups: &[Value]| -> Vec<String> {
        let tracks = groups.iter().filter_map(|g| g["tracks"].as_array()).flatten();
        tracks.filter_map(|t| t["id"].as_u64()).map(|id| id.to_string()).collect()
    };
    let one = groups.iter().find(|g| g["kind"] == "device").or(groups.first()).map(std::slice::from_ref);
    let windows = windows(start_ps, end_ps);
    let mut tiles = Vec::new();
    let mut ours = Vec::new();
    for (of, ids) in [("one device", ids(one.unwrap_or_default())), ("all devices", ids(groups))] {
        let (took, in_server, bytes) = ask(server, &windows, &ids.join(","))?;
        ours = took.iter().copied().take(PEER_REQUESTS).collect();
        tiles.push(Tiles {
            of,
            tracks: ids.len(),
            p50_s: quantile(&took, 0.5),
            p99_s: quantile(&took, 0.99),
            server_p99_s: quantile(&in_server, 0.99),
            bytes,
        });
    }
    Ok(Timeline {
        first_tracks_s: first.seconds,
        tracks_s: again.seconds,
        tiles,
        peers: Vec::new(),
        peak_bytes: server.peak_bytes(),
        windows,
        took: ours,
    })
}

/// Asks for the tiles of these windows: how long each took (seconds), how long in the server, and their mean size (bytes).
fn ask(server: &mut Server, windows: &[(i64, i64)], list: &str) -> Result<(Vec<f64>, Vec<f64>, usize)> {
    let (mut took, mut in_server, mut bytes) = (Vec::new(), Vec::new(), 0);
    for (start, end) in windows {
        let path = format!("/api/timeline/tile?start={start}&end={end}&px={PX}&tracks={list}");
        let tile = server.get(&path)?;
        ensure!(tile.body.starts_with(b"HLT1"), "{path}: no tile");
        took.push(tile.seconds);
        in_server.push(tile.server_s.context("a tile without Server-Timing")?);
        bytes += tile.body.len();
    }
    Ok((took, in_server, bytes / windows.len().max(1)))
}

/// What was measured, in sentences.
pub(super) fn lines(timeline: &Timeline) -> Vec<String> {
    let ms = |seconds: f64| format!("{:.2} ms", seconds * 1e3);
    let memory = timeline.peak_bytes.map_or_else(String::new, |bytes| {
        format!(
            "; peak memory of the server {:.0} MiB, the mapped file among it",
            bytes as f64 / super::table::MIB
        )
    });
    let mut lines = vec![format!(
        "timeline: first list of tracks {}, again {}{memory}",
        ms(timeline.first_tracks_s),
        ms(timeline.tracks_s)
    )];
    for tiles in &timeline.tiles {
        lines.push(format!(
            "tiles of {} ({} tracks, {PX} px, {REQUESTS} windows): p50 {}, p99 {} over HTTP, {:.0} kB each; p99 in the server {}, \
             budget {}: {}",
            tiles.of,
            tiles.tracks,
            ms(tiles.p50_s),
            ms(tiles.p99_s),
            tiles.bytes as f64 / 1e3,
            ms(tiles.server_p99_s),
            ms(BUDGET_S),
            super::table::kept(tiles.server_p99_s <= BUDGET_S),
        ));
    }
    for peer in &timeline.peers {
        lines.push(format!(
            "{}, {PEER_REQUESTS} of these windows: p50 {}, p99 {}: {:.0} and {:.0} times our tiles of all devices over HTTP",
            peer.label,
            ms(peer.theirs_p50_s),
            ms(peer.theirs_p99_s),
            peer.theirs_p50_s / peer.ours_p50_s,
            peer.theirs_p99_s / peer.ours_p99_s,
        ));
    }
    lines
}

/// Windows at all places, from the whole run to a few microseconds of it; the same ones in every run.
pub(super) fn windows(start_ps: i64, end_ps: i64) -> Vec<(i64, i64)> {
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let span = (end_ps - start_ps).max(1) as f64;
    let window = |_| {
        let length = (span / 10_f64.powf(ZOOM * random())).max(1.0);
        let start = start_ps + ((span - length) * random()) as i64;
        (start, start + length as i64)
    };
    (0..REQUESTS).map(window).collect()
}

/// The value below which this share of the samples lies, or which it is: the nearest rank.
pub(super) fn quantile(samples: &[f64], share: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_lie_in_the_run_and_are_the_same_every_time() {
        let all = windows(10, 1_000_000_010);
        assert_eq!(all, windows(10, 1_000_000_010));
        assert!(all.iter().all(|(start, end)| 10 <= *start && start < end && *end <= 1_000_000_010));
        let lengths: Vec<_> = all.iter().map(|(start, end)| (end - start) as f64).collect();
        assert!(quantile(&lengths, 0.05) < 1e5 && quantile(&lengths, 0.95) > 1e8);
    }

    #[test]
    fn the_nearest_rank_is_a_sample() {
        let samples: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!((quantile(&samples, 0.5), quantile(&samples, 0.99)), (100.0, 198.0));
        assert_eq!(quantile(&[7.0], 0.99), 7.0);
    }

    #[test]
    fn budgets_and_ratios_are_told() {
        let tiles =
            |of, server_p99_s| Tiles { of, tracks: 3, p50_s: 0.001, p99_s: 0.012, server_p99_s, bytes: 5000 };
        let timeline = Timeline {
            first_tracks_s: 0.5,
            tracks_s: 0.001,
            tiles: vec![tiles("one device", 0.009), tiles("all devices", 0.011)],
            peers: vec![Windows {
                id: "xprof",
                label: "xprof, trace_viewer@".into(),
                theirs_p50_s: 0.2,
                theirs_p99_s: 0.6,
                ours_p50_s: 0.001,
                ours_p99_s: 0.002,
            }],
            peak_bytes: Some(3 << 20),
            windows: Vec::new(),
            took: Vec::new(),
        };
        let said = lines(&timeline);
        assert!(said[0].contains("500.00 ms, again 1.00 ms; peak memory of the server 3 MiB"), "{}", said[0]);
        assert!(said[1].ends_with("p99 in the server 9.00 ms, budget 10.00 ms: kept"), "{}", said[1]);
        assert!(said[2].ends_with("missed"), "{}", said[2]);
        assert!(said[3].contains("200 and 300 times"), "{}", said[3]);
    }
}
