//! `haloscope capture ... --continuous start|snapshot|stop`.

use haloscope_capture::{Stop, continuous};

use super::options::CaptureArgs;
use super::show::Show;
use super::{interrupt, shown};
use crate::{Failure, Printer};

pub(super) fn run(action: &str, ask: &CaptureArgs, printer: &mut Printer) -> Result<u8, Failure> {
    let servers = &ask.request.servers;
    match action {
        "start" => {
            for (done, server) in servers.iter().enumerate() {
                if let Err(error) = continuous::start(server, &ask.request.options) {
                    // All or none: those that started are ended again.
                    for started in &servers[..done] {
                        let _ = continuous::stop(started);
                    }
                    return Err(error.into());
                }
            }
            printer.note(
                "recording; --continuous snapshot saves what was recorded last, --continuous stop ends it",
            );
        }
        "stop" => {
            // One that cannot be ended must not keep the others going.
            let outcomes: Vec<_> = servers.iter().map(|server| continuous::stop(server)).collect();
            outcomes.into_iter().collect::<Result<Vec<()>, _>>()?;
            printer.note("no longer recording");
        }
        _ => {
            let session = ask.request.session.as_deref();
            let stop = Stop::new();
            interrupt::ends(&stop);
            let captured = {
                let show = Show::new();
                continuous::snapshot(servers, &ask.destination, session, &show, &stop)?
            };
            shown(&captured, &ask.output, ask.is_overview, printer)?;
        }
    }
    Ok(0)
}
