//! The settings of a question as text to copy: an environment, a command, a piece of Python.

use std::fmt::Write;

use super::table::{Kind, Question, Setting, of_question};

/// A setting as it is written where it is made: `--flag=value`, `name=value`, or the change itself.
#[must_use]
pub fn assignment(setting: &Setting) -> String {
    match setting.kind {
        Kind::Libtpu | Kind::Xla => format!("--{}={}", setting.name, setting.value),
        Kind::Option | Kind::Advanced => format!("{}={}", setting.name, setting.value),
        Kind::Program => setting.name.clone(),
    }
}

/// The settings of a question that go together, for `platform` (`tpu`, `gpu`; empty for both), without those to think about.
fn always(question: &Question, platform: &str) -> Vec<&'static Setting> {
    let is_for = |setting: &&Setting| {
        !setting.optional
            && (platform.is_empty() || setting.platform.is_empty() || setting.platform == platform)
    };
    of_question(&question.id).into_iter().filter(is_for).collect()
}

/// Lines of a shell that set what a program must be started with; empty where that is nothing.
#[must_use]
pub fn environment(question: &Question, platform: &str) -> String {
    let mut text = String::new();
    for kind in [Kind::Libtpu, Kind::Xla] {
        let flags: Vec<String> =
            always(question, platform).into_iter().filter(|s| s.kind == kind).map(assignment).collect();
        if !flags.is_empty() {
            // What is set already stays.
            let _ = writeln!(text, "export {0}=\"${{{0}:-}} {1}\"", kind.place(), flags.join(" "));
        }
    }
    text
}

/// The command that captures a running program with these settings. What has no flag of its own is the same in every capture.
#[must_use]
pub fn command(question: &Question, platform: &str) -> String {
    let mut text = "haloscope capture HOST:PORT -o LOGDIR".to_owned();
    for setting in always(question, platform) {
        let value = &setting.value;
        match (setting.kind, setting.name.as_str()) {
            (Kind::Option, "host_tracer_level") => _ = write!(text, " --host-tracer-level {value}"),
            (Kind::Option, "python_tracer_level") => _ = write!(text, " --python-tracer-level {value}"),
            (Kind::Advanced, "tpu_trace_mode") => _ = write!(text, " --tpu-trace-mode {value}"),
            (Kind::Advanced, name) => _ = write!(text, " --option {name}={value}"),
            _ => {}
        }
    }
    text
}

/// The same as Python for a program that captures itself. JAX's `ProfileOptions` has no field for the device's level: it is on.
#[must_use]
pub fn python(question: &Question, platform: &str) -> String {
    let mut text = "options = jax.profiler.ProfileOptions()\n".to_owned();
    let settings = always(question, platform);
    for setting in settings.iter().filter(|s| s.kind == Kind::Option && s.name != "device_tracer_level") {
        let _ = writeln!(text, "options.{} = {}", setting.name, literal(&setting.value));
    }
    let advanced: Vec<String> = settings
        .iter()
        .filter(|s| s.kind == Kind::Advanced)
        .map(|s| format!("\"{}\": {}", s.name, literal(&s.value)))
        .collect();
    if !advanced.is_empty() {
        let _ = writeln!(text, "options.advanced_configuration = {{{}}}", advanced.join(", "));
    }
    text += "with jax.profiler.trace(\"LOGDIR\", profiler_options=options):\n    ...  # a few steps after the first ones\n";
    text
}

/// A value as Python writes it.
fn literal(value: &str) -> String {
    match value {
        "true" => "True".to_owned(),
        "false" => "False".to_owned(),
        number if number.parse::<i64>().is_ok() => number.to_owned(),
        text => format!("\"{text}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture_advice::{find, questions};

    #[test]
    fn a_kernel_needs_flags_before_the_program_starts() {
        let kernel = find("kernel").unwrap();
        assert_eq!(
            environment(kernel, "tpu"),
            "export LIBTPU_INIT_ARGS=\"${LIBTPU_INIT_ARGS:-} --xla_xprof_register_llo_debug_info=true \
             --xla_xprof_enable_custom_call_tracing=true\"\n"
        );
        assert!(environment(kernel, "gpu").starts_with("export XLA_FLAGS="));
        assert_eq!(environment(find("input").unwrap(), "tpu"), "");
        let command = command(kernel, "tpu");
        assert!(
            command.contains("--python-tracer-level 0")
                && command.contains("--option tpu_perf_counters=true")
        );
    }

    #[test]
    fn python_has_values_as_python_writes_them() {
        let text = python(find("kernel").unwrap(), "tpu");
        assert!(text.contains("options.python_tracer_level = 0\n"), "{text}");
        assert!(text.contains("advanced_configuration = {\"tpu_perf_counters\": True}"), "{text}");
        assert!(!text.contains("device_tracer_level"), "{text}");
        for question in questions() {
            assert!(!python(question, "gpu").contains("tpu_"), "{}", question.id);
        }
        assert_eq!(literal("TRACE_ONLY_XLA"), "\"TRACE_ONLY_XLA\"");
    }
}
