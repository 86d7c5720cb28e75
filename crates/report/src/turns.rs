//! Whose turn it is, where more wait for a worker than there are.
//!
//! As many pieces of work run at once as there are workers. One worker more is kept for what is quick, so that it never waits for
//! what is not. Those who wait take turns: next is the address with the fewest pieces running, of its clients the one with the
//! fewest, and between equals the one that had its last turn longest ago. How much somebody asks takes nothing from others.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::net::{IpAddr, Ipv6Addr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// The part of an IPv6 address that a network gives one customer: its last 64 bits are theirs to choose.
const NETWORK: u128 = !0 << 64;

/// Who asks: somebody at an address. The default asks from within this process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Client {
    peer: Option<IpAddr>,
    part: u64,
}

impl Client {
    /// Who asks from `peer`; `part` tells several there from each other, such as the sessions of browsers. Addresses of one IPv6
    /// network (/64) are one.
    #[must_use]
    pub fn new(peer: IpAddr, part: u64) -> Self {
        let peer = match peer.to_canonical() {
            IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & NETWORK)),
            v4 @ IpAddr::V4(_) => v4,
        };
        Self { peer: Some(peer), part }
    }

    /// The address, or its network; `None` within this process.
    #[must_use]
    pub fn peer(self) -> Option<IpAddr> {
        self.peer
    }
}

/// How long a piece of work takes, as far as that is known before it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Milliseconds: it may have the worker that is kept for such.
    Quick,
    /// Anything.
    Heavy,
}

/// Workers, and who waits for one.
#[derive(Debug)]
pub struct Turns {
    workers: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Workers that do nothing.
    free: usize,
    /// Whether the one that is kept for what is quick does nothing.
    kept_free: bool,
    ids: u64,
    /// What waits, and what may begin and has not yet.
    waits: BTreeMap<u64, Waits>,
    queues: VecDeque<Peer>,
    /// Whose work runs.
    running: Vec<Client>,
}

#[derive(Debug)]
struct Waits {
    size: Size,
    waker: Option<Waker>,
    /// Whose turn it has, and whether with the worker that is kept.
    turn: Option<(Client, bool)>,
}

/// What waits for the clients at one address. The one whose turn is longest ago stands first.
#[derive(Debug)]
struct Peer {
    peer: Option<IpAddr>,
    clients: VecDeque<Queue>,
}

/// What waits for one client, in the order in which it came.
#[derive(Debug)]
struct Queue {
    client: Client,
    ids: VecDeque<u64>,
}

impl Turns {
    /// So many workers, one at least, and one more for what is quick.
    #[must_use]
    pub fn new(workers: usize) -> Arc<Self> {
        let workers = workers.max(1);
        let state = State {
            free: workers,
            kept_free: true,
            ids: 0,
            waits: BTreeMap::new(),
            queues: VecDeque::new(),
            running: Vec::new(),
        };
        Arc::new(Self { workers, state: Mutex::new(state) })
    }

    /// How many workers there are, without the one for what is quick.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// How many pieces of work wait for a worker.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.lock().waits.values().filter(|waits| waits.turn.is_none()).count()
    }

    /// A place in the queue of `client`, which is kept until what is returned is dropped or has its turn.
    pub fn wait(self: &Arc<Self>, client: Client, size: Size) -> Wait {
        let mut state = self.lock();
        let id = state.ids;
        state.ids += 1;
        state.waits.insert(id, Waits { size, waker: None, turn: None });
        state.enqueue(client, id);
        let wakers = state.give();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        Wait(Place { turns: Arc::clone(self), id })
    }

    /// What is guarded here is whole after every statement, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        let wakers = state.give();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl State {
    fn enqueue(&mut self, client: Client, id: u64) {
        let peer = match self.queues.iter_mut().position(|peer| peer.peer == client.peer) {
            Some(at) => &mut self.queues[at],
            None => {
                self.queues.push_back(Peer { peer: client.peer, clients: VecDeque::new() });
                let last = self.queues.len() - 1;
                &mut self.queues[last]
            }
        };
        match peer.clients.iter_mut().find(|queue| queue.client == client) {
            Some(queue) if queue.ids.contains(&id) => {}
            Some(queue) => queue.ids.push_back(id),
            None => peer.clients.push_back(Queue { client, ids: VecDeque::from([id]) }),
        }
    }

    /// Takes it out of all queues, and queues away that hold nothing: nobody is remembered who does not wait.
    fn dequeue(&mut self, id: u64) {
        for peer in &mut self.queues {
            for queue in &mut peer.clients {
                queue.ids.retain(|other| *other != id);
            }
            peer.clients.retain(|queue| !queue.ids.is_empty());
        }
        self.queues.retain(|peer| !peer.clients.is_empty());
    }

    /// What is next, and whose turn that is.
    fn next(&self, quick_only: bool) -> Option<(u64, Client)> {
        let of_peer = |peer| self.running.iter().filter(|client| client.peer == peer).count();
        let of_client = |client| self.running.iter().filter(|other| **other == client).count();
        let fits = |id: &&u64| !quick_only || self.waits.get(id).is_some_and(|w| w.size == Size::Quick);
        let candidates = self.queues.iter().enumerate().flat_map(|(at, peer)| {
            let busy = of_peer(peer.peer);
            peer.clients.iter().filter_map(move |queue| {
                let id = queue.ids.iter().find(fits)?;
                Some(((busy, at, of_client(queue.client)), *id, queue.client))
            })
        });
        // Of equals the first.
        candidates.min_by_key(|(key, ..)| *key).map(|(_, id, client)| (id, client))
    }

    /// Lets begin what may; those who wait for it are to be woken.
    fn give(&mut self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        loop {
            let kept = self.free == 0;
            if kept && !self.kept_free {
                break;
            }
            let Some((id, client)) = self.next(kept) else { break };
            if kept {
                self.kept_free = false;
            } else {
                self.free -= 1;
            }
            self.running.push(client);
            self.put_last(client);
            self.dequeue(id);
            if let Some(waits) = self.waits.get_mut(&id) {
                waits.turn = Some((client, kept));
                wakers.extend(waits.waker.take());
            }
        }
        wakers
    }

    /// The client and its address have a turn, or had one.
    fn put_last(&mut self, client: Client) {
        let Some(at) = self.queues.iter().position(|peer| peer.peer == client.peer) else { return };
        let Some(mut peer) = self.queues.remove(at) else { return };
        if let Some(at) = peer.clients.iter().position(|queue| queue.client == client)
            && let Some(queue) = peer.clients.remove(at)
        {
            peer.clients.push_back(queue);
        }
        self.queues.push_back(peer);
    }

    fn end(&mut self, (client, kept): (Client, bool)) {
        if let Some(at) = self.running.iter().position(|other| *other == client) {
            self.running.swap_remove(at);
        }
        self.put_last(client);
        if kept {
            self.kept_free = true;
        } else {
            self.free += 1;
        }
    }
}

/// A place among those who wait.
#[derive(Debug, Clone)]
pub struct Place {
    turns: Arc<Turns>,
    id: u64,
}

impl Place {
    /// Says that this client wants the same: it is done in the turn of whoever has one first. Nothing, where it has begun.
    pub fn also(&self, client: Client) {
        let mut state = self.turns.lock();
        if state.waits.get(&self.id).is_some_and(|waits| waits.turn.is_none()) {
            state.enqueue(client, self.id);
        }
    }
}

/// Ready when it is this one's turn. Who drops it gives its place up.
#[derive(Debug)]
#[must_use = "nothing waits without being awaited"]
pub struct Wait(Place);

impl Wait {
    /// The place, to say who else wants the same.
    #[must_use]
    pub fn place(&self) -> Place {
        self.0.clone()
    }
}

impl Future for Wait {
    type Output = Turn;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Turn> {
        let Place { turns, id } = &self.0;
        let mut state = turns.lock();
        let Some(waits) = state.waits.get_mut(id) else { return Poll::Pending };
        let Some(turn) = waits.turn.take() else {
            waits.waker = Some(context.waker().clone());
            return Poll::Pending;
        };
        state.waits.remove(id);
        Poll::Ready(Turn { turns: Arc::clone(turns), turn })
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let id = self.0.id;
        self.0.turns.change(|state| {
            let Some(waits) = state.waits.remove(&id) else { return };
            match waits.turn {
                Some(turn) => state.end(turn),
                None => state.dequeue(id),
            }
        });
    }
}

/// A worker, for as long as this is kept.
#[derive(Debug)]
pub struct Turn {
    turns: Arc<Turns>,
    turn: (Client, bool),
}

impl Turn {
    /// Whether it is the worker that is kept for what is quick.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.turn.1
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.change(|state| state.end(self.turn));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(last: u8, part: u64) -> Client {
        Client::new(IpAddr::from([10, 0, 0, last]), part)
    }

    fn poll(wait: &mut Wait) -> Option<Turn> {
        match Pin::new(wait).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(turn) => Some(turn),
            Poll::Pending => None,
        }
    }

    /// Ends one turn after the other, the one that began first first, and says who was next each time.
    fn order(mut running: VecDeque<Turn>, mut waits: Vec<(&'static str, Wait)>) -> Vec<&'static str> {
        let mut order = Vec::new();
        while running.pop_front().is_some() {
            waits.retain_mut(|(name, wait)| match poll(wait) {
                Some(turn) => {
                    order.push(*name);
                    running.push_back(turn);
                    false
                }
                None => true,
            });
        }
        assert!(waits.is_empty());
        order
    }

    #[test]
    fn one_question_does_not_wait_behind_a_hundred_of_somebody_else() {
        let turns = Turns::new(2);
        let heavy = |client| turns.wait(client, Size::Heavy);
        let mut waits: Vec<_> = (0..100).map(|_| ("greedy", heavy(client(1, 0)))).collect();
        waits.push(("modest", heavy(client(2, 0))));
        let running: VecDeque<Turn> = waits.iter_mut().filter_map(|(_, wait)| poll(wait)).collect();
        assert_eq!((running.len(), turns.waiting()), (2, 99));
        let order = order(running, waits.split_off(2));
        assert_eq!(order[0], "modest", "{order:?}");
        assert_eq!(order.len(), 99);
        let state = turns.lock();
        assert_eq!((state.free, state.kept_free), (2, true));
        assert!(state.queues.is_empty() && state.waits.is_empty() && state.running.is_empty());
    }

    #[test]
    fn clients_take_turns_and_so_do_those_at_one_address() {
        let turns = Turns::new(1);
        let heavy = |name, client| (name, turns.wait(client, Size::Heavy));
        let mut first = turns.wait(client(9, 0), Size::Heavy);
        let running = VecDeque::from([poll(&mut first).unwrap()]);
        let (a, b1, b2) = (client(1, 0), client(2, 1), client(2, 2));
        let waits = vec![
            heavy("a", a),
            heavy("a", a),
            heavy("a", a),
            heavy("b1", b1),
            heavy("b1", b1),
            heavy("b2", b2),
            heavy("c", client(3, 0)),
        ];
        // Two sessions at one address have together what another has alone.
        assert_eq!(order(running, waits), ["a", "b1", "c", "a", "b2", "a", "b1"]);
    }

    #[test]
    fn what_is_quick_never_waits_for_what_is_not() {
        let turns = Turns::new(2);
        let mut waits: Vec<_> = (0..5).map(|_| turns.wait(client(1, 0), Size::Heavy)).collect();
        let running: Vec<Turn> = waits.iter_mut().filter_map(poll).collect();
        assert!(running.len() == 2 && running.iter().all(|turn| !turn.is_kept()));
        let mut quick = turns.wait(client(1, 0), Size::Quick);
        let turn = poll(&mut quick).unwrap();
        assert!(turn.is_kept());
        // Who asks quick questions without end takes turns there as well.
        let mut more: Vec<_> = (0..3).map(|_| turns.wait(client(1, 0), Size::Quick)).collect();
        let mut other = turns.wait(client(2, 0), Size::Quick);
        assert!(poll(&mut other).is_none() && more.iter_mut().all(|wait| poll(wait).is_none()));
        drop(turn);
        let turn = poll(&mut other).unwrap();
        assert!(turn.is_kept() && more.iter_mut().all(|wait| poll(wait).is_none()));
        // The one that is kept is none for what is heavy, also where nothing quick waits.
        drop((more, turn));
        assert!(waits[2..].iter_mut().all(|wait| poll(wait).is_none()));
        drop(running);
        assert_eq!(waits[2..].iter_mut().filter_map(poll).collect::<Vec<_>>().len(), 2);
    }

    #[test]
    fn what_two_want_is_done_in_the_turn_of_whoever_is_next() {
        let turns = Turns::new(1);
        let mut first = turns.wait(client(1, 0), Size::Heavy);
        let running = poll(&mut first).unwrap();
        let mut waits: Vec<_> = (0..3).map(|_| turns.wait(client(1, 0), Size::Heavy)).collect();
        waits[2].place().also(client(2, 0));
        waits[2].place().also(client(2, 0));
        drop(running);
        let turn = poll(&mut waits[2]).unwrap();
        assert!(poll(&mut waits[0]).is_none());
        // It has begun, and nothing is left of it in either queue.
        waits[2].place().also(client(3, 0));
        drop(turn);
        assert!(poll(&mut waits[0]).is_some());
    }

    #[test]
    fn who_leaves_gives_up_the_place_and_the_turn() {
        let turns = Turns::new(1);
        let mut first = turns.wait(client(1, 0), Size::Heavy);
        let running = poll(&mut first).unwrap();
        let gone = turns.wait(client(2, 0), Size::Heavy);
        let mut stays = turns.wait(client(3, 0), Size::Heavy);
        drop(gone);
        assert_eq!(turns.waiting(), 1);
        drop(running);
        // It had its turn and left before it began.
        let late = turns.wait(client(4, 0), Size::Heavy);
        let running = poll(&mut stays).unwrap();
        drop(running);
        drop(late);
        assert!(poll(&mut turns.wait(client(5, 0), Size::Heavy)).is_some());
    }

    #[test]
    fn addresses_of_one_network_are_one_client() {
        let of = |text: &str| Client::new(text.parse().unwrap(), 0);
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
    }
}
