//! Opens an address with whatever the desktop uses.

use std::io;
use std::process::{Command, Stdio};

/// Starts a browser on an address and does not wait for it.
///
/// # Errors
/// What the system says where there is nothing to start.
pub(super) fn open(url: &str) -> io::Result<()> {
    let mut command = if cfg!(target_os = "macos") {
        Command::new("open")
    } else if cfg!(windows) {
        let mut command = Command::new("rundll32");
        command.arg("url.dll,FileProtocolHandler");
        command
    } else {
        Command::new("xdg-open")
    };
    // What a browser writes is not ours to show.
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map(drop)
}
