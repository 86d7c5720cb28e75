//! What allocators handed out, at their fullest.

use serde_json::{Value, json};

use super::ask;
use super::shaped::{Shaped, rounded};
use super::{run_argument, text};
use crate::{Refusal, Tool};

const GIB: f64 = 1_073_741_824.0;

pub(super) fn tool() -> Tool {
    let fields = json!({"run": text(), "allocators": {"type": "object"}});
    let description =
        "Peak memory by allocator, of every host. What the memory is for: `memory` what=attribute.";
    super::tool(
        "xprof_memory",
        "memory",
        description,
        vec![run_argument()],
        &["run"],
        fields,
        |context, arguments, _| {
            let run = context.run(arguments, "run")?;
            let hosts = haloscope_compat::host_names(&run.profile);
            let mut allocators = Vec::new();
            let mut refused: Option<Refusal> = None;
            for host in &hosts {
                // One host without an allocator says nothing about the others.
                match ask::json(&run.profile, "memory_profile", &[("host", host)]) {
                    Ok(answer) => {
                        allocators.extend(allocator_peaks(&answer, (hosts.len() > 1).then_some(*host)));
                    }
                    Err(refusal) => refused = Some(refusal),
                }
            }
            if allocators.is_empty() {
                let wrong = refused.map_or_else(
                    || "the profile has no events of allocators".to_owned(),
                    |refusal| refusal.wrong,
                );
                let next = "`memory` what=peak has the compiler's static peak, an upper bound that needs no such events";
                return Err(Refusal::new(wrong, next));
            }
            let note = "peak_usage is what was allocated at the fullest moment of the process; the stack is reserved in addition to the heap";
            Ok(Shaped::of_run(&run.info.id).and("note", json!(note)).map("allocators", allocators))
        },
    )
}

fn allocator_peaks(answer: &Value, host: Option<&str>) -> Vec<(String, Value)> {
    let Some(allocators) = answer["memoryProfilePerAllocator"].as_object() else { return Vec::new() };
    let allocator = |(id, profile): (&String, &Value)| {
        let summary = &profile["profileSummary"];
        let peak = &summary["peakStats"];
        let gib = |value: &Value| rounded(bytes(value).map(|bytes| bytes / GIB));
        let name = host.map_or_else(|| id.clone(), |host| format!("{host}/{id}"));
        // A capacity or lifetime peak of 0 was not recorded.
        let known =
            |value: &Value| rounded(bytes(value).filter(|bytes| *bytes > 0.0).map(|bytes| bytes / GIB));
        let values = json!({
            "memory_capacity_gib": known(&summary["memoryCapacity"]),
            "peak_usage_gib": known(&summary["peakBytesUsageLifetime"]),
            "peak_usage_bytes": bytes(&summary["peakBytesUsageLifetime"]).filter(|bytes| *bytes > 0.0).map(|bytes| bytes as i64),
            "peak_heap_allocated_gib": gib(&peak["heapAllocatedBytes"]),
            "peak_stack_reserved_gib": gib(&peak["stackReservedBytes"]),
            "peak_free_gib": gib(&peak["freeMemoryBytes"]),
            "fragmentation": rounded(peak["fragmentation"].as_f64()),
        });
        (name, values)
    };
    allocators.iter().map(allocator).collect()
}

/// XProf writes 64-bit numbers as digits.
fn bytes(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}
