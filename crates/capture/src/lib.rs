//! The client of the profiler service in a running JAX, PyTorch/XLA or TensorFlow program.
//!
//! `jax.profiler.start_server(9999)` and its likes serve the gRPC service `tensorflow.ProfilerService`. [`capture`] asks one or
//! several of them to profile at one common time, and lays what they send below a log folder as one session, as XProf and JAX
//! lay it: `plugins/profile/<session>/<host>.xplane.pb`. A session appears whole or not at all.
//!
//! All functions block; they run on threads of this crate's own. Programs with an asynchronous runtime call them from a thread
//! that may block.
//!
//! ```no_run
//! use haloscope_capture::{Destination, Request, Silent, Stop, capture};
//!
//! let request = Request::new(["localhost:9999"]);
//! let captured = capture(&request, &Destination::parse("/tmp/logs")?, &Silent, &Stop::new())?;
//! println!("{}", captured.path);
//! # Ok::<(), haloscope_capture::Error>(())
//! ```

mod call;
mod collect;
pub mod continuous;
mod counted;
mod error;
mod monitor;
mod options;
mod proto;
mod request;
mod runtime;
mod server;
mod session;
mod stop;
mod watch;

pub use collect::capture;
pub use error::Error;
pub use monitor::monitor;
pub use options::{Options, Setting};
pub use request::Request;
pub use session::{Captured, Destination, File};
pub use stop::Stop;
pub use watch::{Event, Silent, Watch};
