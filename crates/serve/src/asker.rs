//! Who asks: whose turn a computation takes.

use std::future::Future;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr};

use axum::extract::Request;
use axum::http::header;
use haloscope_report::turns::Client;

/// The address that a request comes from, among its extensions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

tokio::task_local! {
    static CLIENT: Client;
}

/// Where a request comes from.
pub(crate) fn peer(request: &Request) -> IpAddr {
    request.extensions().get::<Peer>().map_or(Ipv4Addr::UNSPECIFIED.into(), |peer| peer.0)
}

/// Who sends a request: the session at its address, where it has one. Of those without, programs are told apart by what they
/// call themselves: who is at this machine all come from one address. Whatever is said there, an address has its turns and no more.
pub(crate) fn of(request: &Request, session: Option<&str>) -> Client {
    let mut hasher = DefaultHasher::new();
    match session {
        Some(session) => session.hash(&mut hasher),
        None => request.headers().get(header::USER_AGENT).map(|v| v.as_bytes()).hash(&mut hasher),
    }
    Client::new(peer(request), hasher.finish())
}

/// Does something for a client.
pub(crate) async fn on_behalf<T>(client: Client, work: impl Future<Output = T>) -> T {
    CLIENT.scope(client, work).await
}

/// For whom this is done; the server itself, where it is for nobody.
pub(crate) fn current() -> Client {
    CLIENT.try_with(|client| *client).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn asked(peer: [u8; 4], agent: Option<&str>) -> Request {
        let mut request = Request::new(Body::empty());
        request.extensions_mut().insert(Peer(peer.into()));
        if let Some(agent) = agent {
            request.headers_mut().insert(header::USER_AGENT, agent.parse().unwrap());
        }
        request
    }

    #[test]
    fn clients_are_told_apart_by_address_then_session_then_name() {
        let (here, there) = ([127, 0, 0, 1], [10, 0, 0, 7]);
        let plain = of(&asked(here, None), None);
        assert_eq!(plain, of(&asked(here, None), None));
        assert_ne!(plain, of(&asked(there, None), None));
        assert_ne!(plain, of(&asked(here, Some("curl")), None));
        let one = of(&asked(here, Some("browser")), Some("1"));
        assert_eq!(one, of(&asked(here, Some("another")), Some("1")));
        assert_ne!(one, of(&asked(here, Some("browser")), Some("2")));
        assert_ne!(one, of(&asked(there, Some("browser")), Some("1")));
        assert_eq!(one.peer(), plain.peer());
    }

    #[test]
    fn what_is_done_for_nobody_is_the_servers() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let client = of(&asked([1, 2, 3, 4], None), None);
        runtime.block_on(async {
            assert_eq!(current(), Client::default());
            assert_eq!(on_behalf(client, async { current() }).await, client);
        });
    }
}
