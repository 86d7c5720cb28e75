//! The tools as agents meet them, on the project's own runs.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod budgets;
mod hostile_names;
mod surface;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use boon::{Compiler, SchemaIndex, Schemas};
use haloscope_mcp::{Arguments, Context, Server};
use haloscope_store::Store;
use serde_json::{Map, Value};

/// The folder of the project's own runs.
fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/runs").canonicalize().unwrap()
}

/// A server of the runs below a folder.
fn server(folder: &Path) -> Server {
    Server::new(Context::new(Arc::new(Store::new(folder).unwrap())).with_page("http://127.0.0.1:8791/"))
}

fn arguments(value: Value) -> Arguments {
    match value {
        Value::Object(object) => Arguments::from(object),
        other => panic!("expected an object, found {other}"),
    }
}

/// A schema, to hold answers against.
fn compiled(schema: &Map<String, Value>) -> (Schemas, SchemaIndex) {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("schema", Value::Object(schema.clone())).unwrap();
    let index = compiler.compile("schema", &mut schemas).unwrap();
    (schemas, index)
}

/// The ids of the runs, in the order of their names.
fn runs(folder: &Path) -> Vec<String> {
    let mut ids: Vec<String> =
        Store::new(folder).unwrap().list().unwrap().into_iter().map(|run| run.id).collect();
    ids.sort();
    ids
}
