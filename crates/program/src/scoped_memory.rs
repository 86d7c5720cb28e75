//! Memory that single instructions set aside while they run, as the TPU's backend configuration has it.

use haloscope_hlo::Module;
use serde::Deserialize;

const KEY: &[u8] = b"\"used_scoped_memory_configs\"";

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    used_scoped_memory_configs: Vec<Used>,
}

#[derive(Deserialize)]
struct Used {
    #[serde(default)]
    memory_space: Number,
    #[serde(default)]
    size: Number,
}

/// A number, plain or, as protobuf writes 64-bit integers, in quotes.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Plain(i64),
    Quoted(String),
    Other(serde::de::IgnoredAny),
}

impl Default for Number {
    fn default() -> Self {
        Self::Plain(0)
    }
}

impl Number {
    fn value(&self) -> i64 {
        match self {
            Self::Plain(value) => *value,
            Self::Quoted(text) => text.parse().unwrap_or(0),
            Self::Other(_) => 0,
        }
    }
}

/// The most bytes that an instruction sets aside in a memory, and the first instruction that does.
#[must_use]
pub fn largest(module: &Module, memory_space: i64) -> Option<(i64, &str)> {
    let mut best: Option<(i64, &str)> = None;
    for (_, instruction) in module.instructions() {
        let config = &instruction.attributes().backend_config;
        if !config.windows(KEY.len()).any(|window| window == KEY) {
            continue;
        }
        let Ok(config) = serde_json::from_slice::<Config>(config) else { continue };
        for used in config.used_scoped_memory_configs {
            let size = used.size.value();
            if used.memory_space.value() == memory_space && size > best.map_or(0, |b| b.0) {
                best = Some((size, &instruction.name));
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_a_memory_is_found() {
        let text = r#"HloModule m
ENTRY e {
  a = f32[8] parameter(0)
  b = f32[8] negate(a), backend_config={"used_scoped_memory_configs":[{"memory_space":"1","offset":"0","size":"4096"}]}
  c = f32[8] negate(b), backend_config={"used_scoped_memory_configs":[{"memory_space":1,"size":8192},{"memory_space":"0","size":"9"}]}
  ROOT d = f32[8] negate(c), backend_config={"used_scoped_memory_configs":"damaged"}
}
"#;
        let module = Module::read(text.as_bytes()).unwrap();
        assert_eq!(largest(&module, 1), Some((8192, "c")));
        assert_eq!(largest(&module, 0), Some((9, "c")));
        assert_eq!(largest(&module, 5), None);
    }
}
