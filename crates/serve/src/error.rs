//! Why there is no server.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It was to listen beyond this machine without a token.
    #[error(
        "{0} can be reached from other machines, and anyone who reaches it can read the profiles: set a token (--token; without --no-token one is generated), or listen on 127.0.0.1 and forward the port over ssh"
    )]
    TokenNeeded(SocketAddr),
    /// The token has so few characters that it can be guessed.
    #[error(
        "the token has {0} characters but needs at least 16: give a random one, such as from `openssl rand -hex 16`, with --token or HALOSCOPE_TOKEN"
    )]
    ShortToken(usize),
    /// The address cannot be listened on.
    #[error(
        "cannot listen on {addr}: {source}. If the port is taken, choose another, or 0 for any that is free"
    )]
    Listen {
        /// The address.
        addr: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The folder of the page cannot be used.
    #[error("cannot serve the page from {}: {source}", path.display())]
    WebRoot {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system gave out of threads or sockets.
    #[error("the server stopped: {0}")]
    System(#[from] io::Error),
}
