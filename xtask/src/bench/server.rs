//! A server of ours in a process of its own, and a connection to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::process;

/// The longest that an answer may take.
const PATIENCE: Duration = Duration::from_secs(180);
/// The longest until the server says its address.
const START: Duration = Duration::from_secs(60);

/// A server over one log folder or profile. It ends with this value.
pub(super) struct Server {
    child: Child,
    connection: BufReader<TcpStream>,
    /// Kept open: the server may still want to write.
    _stdout: Option<BufReader<ChildStdout>>,
}

/// An answer of the server.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
    /// From the request to the last byte.
    pub(super) seconds: f64,
    /// What `Server-Timing` says.
    pub(super) server_s: Option<f64>,
}

impl Server {
    /// Starts one with these variables in its environment.
    pub(super) fn start(binary: &Path, profile: &Path, envs: &[(&str, PathBuf)]) -> Result<Self> {
        let mut command = Command::new(binary);
        command.arg("serve").arg(profile).args(["--port", "0", "--no-token"]).stdin(Stdio::null());
        command.envs(envs.iter().map(|(key, value)| (key, value)));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let connected = child.stdout.take().context("no stdout").and_then(|stdout| {
            let (send, receive) = mpsc::channel();
            std::thread::spawn(move || {
                let mut stdout = BufReader::new(stdout);
                let mut line = String::new();
                let read = stdout.read_line(&mut line).map(|_| (line, stdout));
                // Nobody waits any more after `START`.
                drop(send.send(read));
            });
            let (line, stdout) = receive.recv_timeout(START).context("it said no address in a minute")??;
            let address = line.split_once("http://").and_then(|(_, rest)| rest.split('/').next());
            let connection = TcpStream::connect(address.with_context(|| format!("no address in `{line}`"))?)?;
            connection.set_nodelay(true)?;
            connection.set_read_timeout(Some(PATIENCE))?;
            Ok((BufReader::new(connection), stdout))
        });
        match connected {
            Ok((connection, stdout)) => Ok(Self { child, connection, _stdout: Some(stdout) }),
            Err(error) => {
                child.kill()?;
                child.wait()?;
                Err(error.context("the server did not start"))
            }
        }
    }

    /// Starts another program's server, which will listen on this port of this machine.
    pub(super) fn other(mut command: Command, port: u16) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().context("the server did not start")?;
        let begun = Instant::now();
        while begun.elapsed() < START {
            if let Ok(connection) = TcpStream::connect(("127.0.0.1", port)) {
                connection.set_nodelay(true)?;
                connection.set_read_timeout(Some(PATIENCE))?;
                return Ok(Self { child, connection: BufReader::new(connection), _stdout: None });
            }
            if let Some(status) = child.try_wait()? {
                bail!("the server ended: {status}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill()?;
        child.wait()?;
        bail!("the server did not listen within a minute")
    }

    /// Asks, and fails unless the answer is a good one.
    pub(super) fn get(&mut self, path: &str) -> Result<Answer> {
        let answer = self.ask(path, "identity")?;
        let text = || String::from_utf8_lossy(&answer.body).chars().take(300).collect::<String>();
        ensure!(answer.status == 200, "{path}: {} {}", answer.status, text());
        Ok(answer)
    }

    /// Asks for an answer in this encoding.
    pub(super) fn ask(&mut self, path: &str, encoding: &str) -> Result<Answer> {
        let begun = Instant::now();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: {encoding}\r\n\r\n");
        self.connection.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        self.connection.read_line(&mut line).with_context(|| format!("{path}: no answer"))?;
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.with_context(|| format!("{path}: expected a status, found `{}`", line.trim()))?;
        let (mut length, mut server_s, mut chunked) = (None, None, false);
        loop {
            let mut header = String::new();
            self.connection.read_line(&mut header)?;
            let Some((name, value)) = header.trim_end().split_once(": ") else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = Some(value.parse()?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                chunked = value.eq_ignore_ascii_case("chunked");
            } else if name.eq_ignore_ascii_case("server-timing") {
                server_s = value.rsplit('=').next().and_then(|ms| Some(ms.parse::<f64>().ok()? / 1e3));
            }
        }
        let body = if chunked {
            self.chunks()?
        } else {
            let mut body = vec![0; length.context("an answer without a length")?];
            self.connection.read_exact(&mut body)?;
            body
        };
        Ok(Answer { status, body, seconds: begun.elapsed().as_secs_f64(), server_s })
    }

    fn chunks(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let mut line = String::new();
            self.connection.read_line(&mut line)?;
            let length = usize::from_str_radix(line.trim(), 16).context("a chunk without a length")?;
            let start = body.len();
            body.resize(start + length, 0);
            self.connection.read_exact(&mut body[start..])?;
            self.connection.read_line(&mut String::new())?;
            if length == 0 {
                return Ok(body);
            }
        }
    }

    /// Peak of resident memory, bytes; where the system says it.
    pub(super) fn peak_bytes(&self) -> Option<u64> {
        process::status(self.child.id(), "VmHWM:")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended already is as good.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
