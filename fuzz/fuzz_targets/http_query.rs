//! Arbitrary addresses asked of a server of one small run: each is answered in time or refused with words, and never by a panic. The
//! input is the address, without host and port.
#![no_main]

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::LazyLock;
use std::time::Duration;

use haloscope_serve::{Config, Server};
use haloscope_store::Store;
use libfuzzer_sys::fuzz_target;

/// A longer address is no question.
const LONGEST: usize = 4096;
/// An answer that takes longer is a failure.
const SLOWEST: Duration = Duration::from_secs(9);

/// A server of one small run, which answers until the process ends.
static SERVER: LazyLock<SocketAddr> = LazyLock::new(|| {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/runs/tpu-gate");
    let store = Store::new(folder.as_ref()).expect("a fixture");
    let config = Config { addr: SocketAddr::from(([127, 0, 0, 1], 0)), ..Config::new(store) };
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let server = Server::bind(config).await.expect("a port");
            tell.send(server.local_addr()).expect("somebody waits");
            server.run(std::future::pending()).await
        })
    });
    told.recv().expect("a server")
});

/// The bytes as they may stand in an address: what may not is escaped, and escapes that are there stay.
fn address(bytes: &[u8]) -> String {
    let mut address = String::new();
    for byte in bytes.iter().copied() {
        if byte.is_ascii_graphic() && !b"#\"<>`{}\\^|".contains(&byte) {
            address.push(char::from(byte));
        } else {
            let _ = write!(address, "%{byte:02X}");
        }
    }
    address
}

fn ask(address: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(*SERVER)?;
    stream.set_read_timeout(Some(SLOWEST))?;
    let host = *SERVER;
    write!(stream, "GET {address} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
}

fuzz_target!(|bytes: &[u8]| {
    // A capture would ask another machine.
    if bytes.len() > LONGEST || bytes.windows(7).any(|word| word == b"capture") {
        return;
    }
    let address = format!("/{}", address(bytes.strip_prefix(b"/").unwrap_or(bytes)));
    let answer = ask(&address).unwrap_or_else(|error| panic!("no answer to {address}: {error}"));
    let head = String::from_utf8_lossy(&answer[..answer.len().min(16)]).into_owned();
    let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
    let status: u16 =
        status.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{address}: {head}"));
    assert!(status != 500, "{address}: {}", String::from_utf8_lossy(&answer));
});
