//! The parts as a bill of materials: CycloneDX 1.5, <https://cyclonedx.org/docs/1.5/json/>.

use serde_json::{Value, json};

use super::Part;

/// The bill of a version of the program. It has no serial number and no time, so that one commit has one bill.
pub(super) fn bill(parts: &[Part], version: &str) -> Value {
    let own = format!("pkg:cargo/haloscope@{version}");
    let components: Vec<Value> = parts.iter().map(component).collect();
    let all: Vec<String> = parts.iter().map(address).collect();
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": "haloscope",
                "version": version,
                "licenses": [{"expression": "Apache-2.0"}],
                "purl": own,
            },
        },
        "components": components,
        "dependencies": [{"ref": own, "dependsOn": all}],
    })
}

fn component(part: &Part) -> Value {
    json!({
        "type": "library",
        "bom-ref": address(part),
        "name": part.name,
        "version": part.version,
        "licenses": [{"expression": part.license.replace(" / ", " OR ").replace('/', " OR ")}],
        "purl": address(part),
    })
}

/// Where a part is found: <https://github.com/package-url/purl-spec>. `@` of a scope and `+` of a version are escaped.
fn address(part: &Part) -> String {
    let kind = if part.is_of_page { "npm" } else { "cargo" };
    format!("pkg:{kind}/{}@{}", part.name.replace('@', "%40"), part.version.replace('+', "%2B"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_an_address_and_an_expression() {
        let part = |name: &str, is_of_page| Part {
            name: name.into(),
            version: "1.0.0+a".into(),
            is_of_page,
            license: "MIT/Apache-2.0".into(),
            authors: vec![],
            folder: ".".into(),
        };
        let bill = bill(&[part("a", false), part("@b/c", true)], "2.0.0");
        assert_eq!(bill["metadata"]["component"]["purl"], "pkg:cargo/haloscope@2.0.0");
        let addresses = ["pkg:cargo/a@1.0.0%2Ba", "pkg:npm/%40b/c@1.0.0%2Ba"];
        for (i, address) in addresses.into_iter().enumerate() {
            assert_eq!(bill["components"][i]["purl"], address);
            assert_eq!(bill["dependencies"][0]["dependsOn"][i], address);
        }
        assert_eq!(bill["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
    }
}
