//! Who guesses tokens is told to wait.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many wrong tokens from one address are a mistake.
const MISTAKES: u32 = 10;
/// The time in which they are counted.
const WINDOW: Duration = Duration::from_secs(60);
/// Of so many addresses it is known; the one that began longest ago is forgotten first.
const MOST: usize = 1024;

/// The addresses from which wrong tokens came of late.
#[derive(Debug, Default)]
pub(crate) struct Throttle(Mutex<VecDeque<Wrong>>);

#[derive(Debug)]
struct Wrong {
    peer: Option<IpAddr>,
    since: Instant,
    count: u32,
}

impl Throttle {
    /// Counts a wrong token; how long the address is to wait, where there were too many.
    pub(crate) fn wrong(&self, peer: Option<IpAddr>, now: Instant) -> Option<Duration> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| now.saturating_duration_since(one.since) < WINDOW);
        if let Some(one) = all.iter_mut().find(|one| one.peer == peer) {
            one.count = one.count.saturating_add(1);
            let left = WINDOW.saturating_sub(now.saturating_duration_since(one.since));
            return (one.count > MISTAKES).then_some(left);
        }
        if all.len() >= MOST {
            all.pop_front();
        }
        all.push_back(Wrong { peer, since: now, count: 1 });
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(n: u32) -> Option<IpAddr> {
        Some(IpAddr::from(n.to_be_bytes()))
    }

    #[test]
    fn the_eleventh_in_a_minute_waits_for_the_rest_of_it() {
        let (throttle, begun) = (Throttle::default(), Instant::now());
        let at = |seconds| begun + Duration::from_secs(seconds);
        for n in 0..10 {
            assert_eq!(throttle.wrong(peer(1), at(n)), None);
        }
        assert_eq!(throttle.wrong(peer(1), at(20)), Some(Duration::from_secs(40)));
        assert_eq!(throttle.wrong(peer(2), at(20)), None, "another address");
        assert_eq!(throttle.wrong(peer(1), at(59)), Some(Duration::from_secs(1)));
        assert_eq!(throttle.wrong(peer(1), at(60)), None, "a minute later");
    }

    #[test]
    fn memory_is_bounded() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        for n in 0..10 * MOST as u32 {
            assert_eq!(throttle.wrong(peer(n), now), None);
        }
        assert_eq!(throttle.0.lock().unwrap().len(), MOST);
    }
}
