//! The text of a licence out of a package.

use std::fs;

use anyhow::{Context, Result, ensure};

use super::{Part, read};
use crate::root;

/// How files are named that hold licences and what goes with them, in capitals.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "UNLICENSE", "NOTICE"];

/// By licence, what stands in its text and in no other's; all of it.
const MARKS: [(&str, &[&str]); 13] = [
    ("Apache-2.0", &["apache license", "version 2.0"]),
    ("Apache-2.0 WITH LLVM-exception", &["llvm exceptions to the apache 2.0 license"]),
    ("MIT", &["permission is hereby granted, free of charge", "the above copyright notice"]),
    ("MIT-0", &["permission is hereby granted, free of charge", "the software is provided \"as is\""]),
    ("BSD-3-Clause", &["redistribution and use in source and binary forms", "neither the name"]),
    ("BSD-2-Clause", &["redistribution and use in source and binary forms"]),
    (
        "ISC",
        &[
            "permission to use, copy, modify, and/or distribute this software",
            "copyright notice and this permission notice",
        ],
    ),
    ("Zlib", &["this software is provided 'as-is'", "altered source versions"]),
    ("BSL-1.0", &["boost software license"]),
    ("0BSD", &["permission to use, copy, modify, and/or distribute this software"]),
    ("Unlicense", &["this is free and unencumbered software"]),
    ("Unicode-3.0", &["unicode license v3"]),
    ("CDLA-Permissive-2.0", &["community data license agreement", "permissive", "2.0"]),
];

/// The texts that go with a part under these licences, each with the place of its licence in `allowed`. Notices come first. Texts are
/// without the spaces at their ends, so that equal ones are equal.
///
/// # Errors
/// If the package does not hold the text of one, which only Apache's may lack: that is the same for all, and here.
pub(super) fn of(part: &Part, taken: &[String], allowed: &[String]) -> Result<Vec<(usize, String)>> {
    let files = files(part)?;
    let mut texts: Vec<(usize, String)> = Vec::new();
    for name in taken {
        let mut own: Vec<&String> =
            files.iter().filter(|(_, text)| is_text(text, name)).map(|(_, text)| text).collect();
        let apache = tidy(&read(&root().join("LICENSE")).context("cannot read LICENSE")?);
        // Its text has no names in it: what stands in the packages differs in spaces and in how it is to be used.
        if name == "Apache-2.0" {
            own = vec![&apache];
        }
        let by_author = standard(name, part);
        if own.is_empty() {
            own.extend(&by_author);
        }
        ensure!(
            !own.is_empty(),
            "the package of {} {} does not hold the text of {name}",
            part.name,
            part.version
        );
        texts.extend(own.into_iter().map(|text| (rank(name, allowed), text.clone())));
    }
    texts.extend(
        files.iter().filter(|(file, _)| file.starts_with("NOTICE")).map(|(_, text)| (0, text.clone())),
    );
    texts.sort();
    texts.dedup();
    Ok(texts)
}

/// The licences and notices in a package: names in capitals, and texts.
fn files(part: &Part) -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    let entries =
        fs::read_dir(&part.folder).with_context(|| format!("cannot read {}", part.folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_ascii_uppercase();
        if NAMES.iter().any(|start| name.starts_with(start)) && entry.path().is_file() {
            files.extend(read(&entry.path()).map(|text| (name, tidy(&text))));
        }
    }
    files.sort();
    Ok(files)
}

/// Whether this is, or holds, the text of a licence.
fn is_text(text: &str, name: &str) -> bool {
    let words = text
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
        .replace(['\u{201c}', '\u{201d}'], "\"");
    MARKS.iter().any(|(of, marks)| *of == name && marks.iter().all(|mark| words.contains(mark)))
}

/// A licence's text in the name of a package's authors, for packages that name the licence and leave its text out.
fn standard(name: &str, part: &Part) -> Option<String> {
    let who = if part.authors.is_empty() {
        format!("the authors of {}", part.name)
    } else {
        part.authors.join(", ")
    };
    named(name, &who)
}

/// The text of a licence that packages name and leave out, in this name where it has a name in it; `None` of other licences.
pub(super) fn named(name: &str, who: &str) -> Option<String> {
    let text = match name {
        "MIT" => include_str!("mit.txt"),
        "BSD-3-Clause" => include_str!("bsd-3-clause.txt"),
        "BSL-1.0" => include_str!("bsl-1.0.txt"),
        _ => return None,
    };
    Some(tidy(&text.replace("{who}", who)))
}

/// Where a licence stands among the texts: notices come before all.
pub(super) fn rank(name: &str, allowed: &[String]) -> usize {
    1 + allowed.iter().position(|known| known == name).unwrap_or(allowed.len())
}

/// A text whose lines end as ours, without spaces at their ends and empty lines around.
fn tidy(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_known_by_what_stands_in_them() {
        let mit = include_str!("mit.txt");
        assert!(is_text(mit, "MIT") && !is_text(mit, "ISC") && !is_text(mit, "Apache-2.0"));
        let apache = read(&root().join("LICENSE")).unwrap();
        assert!(is_text(&apache, "Apache-2.0") && !is_text(&apache, "MIT"));
        let bsd = "Redistribution and  use in source and binary\nforms ...";
        assert!(is_text(bsd, "BSD-2-Clause") && !is_text(bsd, "BSD-3-Clause"));
        assert!(is_text(&format!("{bsd} Neither the name"), "BSD-3-Clause"));
        assert!(!is_text(mit, "nothing that is known"));
    }

    #[test]
    fn a_package_has_its_own_text_and_its_notice_or_none_is_made_up() {
        let folder = tempfile::tempdir().unwrap();
        let mut part = Part {
            name: "a".into(),
            version: "1.0.0".into(),
            is_of_page: false,
            license: "MIT".into(),
            authors: vec!["A <a@example.org>".into()],
            folder: folder.path().into(),
        };
        let allowed = ["Apache-2.0", "MIT", "ISC"].map(ToOwned::to_owned);
        let of = |part: &Part, name: &str| of(part, &[name.to_owned()], &allowed);
        // Without a file, MIT's text bears the authors' names; ISC's cannot be had.
        assert!(of(&part, "MIT").unwrap()[0].1.contains("Copyright (c) A <a@example.org>"));
        assert!(of(&part, "ISC").unwrap_err().to_string().contains("does not hold the text of ISC"));
        part.authors.clear();
        assert!(of(&part, "MIT").unwrap()[0].1.contains("the authors of a"));
        fs::write(
            folder.path().join("license.md"),
            include_str!("mit.txt").replace("{who}", "B").replace('\n', "\r\n"),
        )
        .unwrap();
        fs::write(folder.path().join("NOTICE"), "Mind this.\n").unwrap();
        fs::write(folder.path().join("README"), "MIT").unwrap();
        let texts = of(&part, "MIT").unwrap();
        assert_eq!(texts[0], (0, "Mind this.".to_owned()));
        assert!(texts[1].0 == 2 && texts[1].1.contains("Copyright (c) B\n") && !texts[1].1.contains('\r'));
        assert_eq!(texts.len(), 2);
        assert_eq!(of(&part, "Apache-2.0").unwrap().len(), 2);
    }
}
