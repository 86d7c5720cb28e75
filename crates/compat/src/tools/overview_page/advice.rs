//! What limits the program, and where to look next.

use crate::db::Hardware;
use crate::gviz::{DataTable, Kind};
use crate::input_pipeline::{Analysis, words};
use crate::steps::environment::hardware_name;
use crate::steps::stat::fixed;
use crate::steps::{Environment, StepDb};

/// Below this share of 16-bit kernels, in percent, lower precision is worth a thought.
const LOW_PRECISION: f64 = 10.0;

pub(super) fn table(environment: &Environment, steps: &StepDb, input: &Analysis) -> DataTable {
    let mut table =
        DataTable::new(&["tip_type", "link", "description"].map(|column| (column, Kind::String, column)));
    for (kind, link) in tips(environment.run.hardware) {
        let description = match kind {
            "faq" => "Tool troubleshooting / FAQ",
            "host" => "Next steps for reducing the Host time",
            "device" => "Next steps for reducing the Device time",
            _ => "Other useful resources",
        };
        table.row([kind.into(), link.into(), description.into()]);
    }
    let bottleneck = &input.bottleneck;
    table.prop("bottleneck", bottleneck.input.class);
    table.prop("statement", &*bottleneck.input.statement);
    for (name, verdict) in [
        ("kernel_launch", &bottleneck.launch),
        ("all_other", &bottleneck.other),
        ("device_collectives", &bottleneck.collectives),
    ] {
        table.prop(format!("{name}_bottleneck"), verdict.class);
        table.prop(format!("{name}_statement"), &*verdict.statement);
    }
    table.prop("precision_statement", precision(steps.precision_ps));
    let beside_the_point = match bottleneck.input.class {
        "host" => "device",
        "device" => "host",
        _ => "",
    };
    table.prop("non_bottleneck_tip_types", beside_the_point);
    table
}

fn tips(hardware: Hardware) -> Vec<(&'static str, String)> {
    let device = hardware_name(hardware);
    let (timeline, tool) = match hardware {
        Hardware::Tpu => ("TPU core", "op_profile"),
        _ => (device, "framework_op_stats"),
    };
    let guide =
        |page: &str, text: &str| words::link(&format!("https://www.tensorflow.org/guide/{page}"), text);
    vec![
        ("faq", "Refer to the TF2 Profiler FAQ".into()),
        (
            "host",
            "input_pipeline_analyzer (especially Section 3 for the breakdown of input operations on the Host)".into(),
        ),
        (
            "host",
            "trace_viewer (look at the activities on the timeline of each Host Thread near the bottom of the trace view)"
                .into(),
        ),
        ("device", format!("{tool} (identify the time-consuming operations executed on the {device})")),
        (
            "device",
            format!("trace_viewer (look at the activities on the timeline of each {timeline} in the trace view)"),
        ),
        ("doc", guide("data_performance_analysis", "Analyze tf.data performance with the TF Profiler")),
        ("doc", guide("data_performance", "Better performance with the tf.data API")),
    ]
}

/// What to say of kernels of which few are of 16 bits.
fn precision((low, high): (i64, i64)) -> String {
    let all = low as f64 + high as f64;
    let percent = 100.0 * low as f64 / all;
    if all <= 0.0 || percent >= LOW_PRECISION {
        return String::new();
    }
    format!(
        "Only {}% of device computation is 16 bit. So you might want to replace more 32-bit Ops by 16-bit Ops to improve \
         performance (if the reduced accuracy is acceptable).",
        fixed(percent, 1)
    )
}
