//! JSON objects, and the schemas that describe them.

use serde_json::{Value, json};

/// A JSON object.
pub type Object = serde_json::Map<String, Value>;

/// An input schema: an object with these properties, of which some are demanded.
#[must_use]
pub fn object(properties: impl IntoIterator<Item = (String, Value)>, demanded: &[&str]) -> Object {
    let properties: Object = properties.into_iter().collect();
    let mut schema = Object::new();
    schema.insert("type".into(), json!("object"));
    schema.insert("properties".into(), Value::Object(properties));
    if !demanded.is_empty() {
        schema.insert("required".into(), json!(demanded));
    }
    schema.insert("additionalProperties".into(), json!(false));
    schema
}

/// A property of a schema: its name, its type (`string`, `integer`, `boolean`, `object`) and what it is.
#[must_use]
pub fn property(name: &str, kind: &str, description: &str) -> (String, Value) {
    let mut schema = json!({"type": kind});
    if !description.is_empty() {
        schema["description"] = json!(description);
    }
    (name.to_owned(), schema)
}
