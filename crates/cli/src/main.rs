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

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(haloscope_cli::process(std::env::args_os()))
}
