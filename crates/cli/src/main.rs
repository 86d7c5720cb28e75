//! The process: how it ends, and with which exit code.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | answered, also where the reader of stdout went away |
//! | 1 | answered, and the answer is "no" |
//! | 2 | the command line was malformed |
//! | 3 | an input could not be read, or an output not written |
//! | 4 | nothing to analyse |
//! | 70 | a bug of ours |

use std::panic;
use std::process::ExitCode;

use haloscope_cli::{Printer, run};

fn main() -> ExitCode {
    panic::set_hook(Box::new(|info| Printer::standard().bug(info)));
    // What `run` leaves behind after a panic is not looked at any more.
    let code = panic::catch_unwind(|| run(std::env::args_os(), &mut Printer::standard()));
    ExitCode::from(code.unwrap_or(70))
}
