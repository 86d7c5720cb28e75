//! What the author of a custom kernel wants to be shown: `xprof_metadata` in the JSON that the frontend attribute
//! `kernel_metadata` holds.

use serde_json::Value;

/// The kernel's metadata as compact JSON with sorted keys; empty where the expression has none.
pub(super) fn of_expression(expression: &str) -> String {
    const KEY: &str = "xprof_metadata";
    if !expression.contains(KEY) {
        return String::new();
    }
    let attributes = expression.split_once("frontend_attributes={").map(|(_, rest)| rest);
    let attribute = attributes.and_then(|text| text.split_once("kernel_metadata=")).map(|(_, rest)| rest);
    let metadata = attribute.and_then(first_json).map(|found| match found {
        // A value that is no JSON itself is quoted.
        Value::String(text) => serde_json::from_str(&text).unwrap_or_default(),
        found => found,
    });
    let found = metadata.as_ref().and_then(|m| m.get(KEY)).cloned();
    let found = found.and_then(|value| match value {
        Value::String(text) => serde_json::from_str(&text).ok(),
        value => Some(value),
    });
    found.map(|value: Value| value.to_string()).unwrap_or_default()
}

/// The JSON value that the text starts with.
fn first_json(text: &str) -> Option<Value> {
    serde_json::Deserializer::from_str(text).into_iter().next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(metadata: &str) -> String {
        of_expression(&format!(
            "%k.1 = f32[8]{{0}} custom-call(s32[] %b), custom_call_target=\"tpu_custom_call\", \
             frontend_attributes={{a=\"b\",kernel_metadata={metadata}}}"
        ))
    }

    #[test]
    fn metadata_of_kernels() {
        assert_eq!(
            of(r#"{"xprof_metadata": "{\"b\": {\"I\": \"want\"}, \"a\": 1}"}"#),
            r#"{"a":1,"b":{"I":"want"}}"#
        );
        assert_eq!(of(r#"{"xprof_metadata": {"x": [1, 2]}}"#), r#"{"x":[1,2]}"#);
        assert_eq!(of(r#""{\"xprof_metadata\": 3}""#), "3");
        assert_eq!(of(r#"{"xprof_metadata": "{broken"}"#), "");
        assert_eq!(of("{}"), "");
        assert_eq!(of_expression("%k = xprof_metadata"), "");
    }
}
