//! Arbitrary arguments of agents' tools: a call is answered within its budget or refused with words, and what is said holds no control
//! character but line breaks. The input is the tool's name (or `prompt`, or `resource`), a space, and the arguments as JSON.
#![no_main]

use std::sync::{Arc, LazyLock};

use haloscope_mcp::{Arguments, Context, Server};
use haloscope_store::Store;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// Of one small run.
static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/runs/tpu-gate");
    Server::new(Context::new(Arc::new(Store::new(folder.as_ref()).expect("a fixture"))))
});

/// Whether a text holds what only a terminal or a model would act on.
fn has_control(text: &str) -> bool {
    text.chars().any(|c| c.is_control() && c != '\n')
}

fuzz_target!(|bytes: &[u8]| {
    let Some(space) = bytes.iter().position(|byte| *byte == b' ') else { return };
    let (name, arguments) = bytes.split_at(space);
    let Ok(Value::Object(arguments)) = serde_json::from_slice(arguments) else { return };
    let (name, arguments) = (String::from_utf8_lossy(name), Arguments::from(arguments));
    match &*name {
        "prompt" => {
            let _ = SERVER.prompt(&arguments);
        }
        "resource" => {
            let _ = SERVER.resource(&arguments.text("uri").ok().flatten().unwrap_or_default());
        }
        tool => match SERVER.call(tool, &arguments) {
            Ok(answer) => {
                assert!(answer.structured.is_object() && answer.bytes() > 0);
                assert!(!has_control(&answer.text), "{tool}: {:?}", answer.text);
            }
            Err(refusal) => assert!(!refusal.text().trim().is_empty()),
        },
    }
});
