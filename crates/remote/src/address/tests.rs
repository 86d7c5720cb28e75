use super::*;

fn parse(text: &str) -> Address {
    Address::parse(text).unwrap()
}

#[test]
fn addresses_are_told_from_paths() {
    for text in ["gs://b", "s3://b/c", "http://h/x", "ftp://h", "az://c"] {
        assert!(Address::is_one(text), "{text}");
    }
    for text in ["logs", "C:\\logs", "C://logs", "host:9999", "/a://b", "://b", "./s3://"] {
        assert!(!Address::is_one(text), "{text}");
    }
}

#[test]
fn what_is_read_is_shown_again() {
    for text in [
        "gs://b",
        "s3://b/a b/ü",
        "az://c/p",
        "abfss://c@a.dfs.core.windows.net/p/q",
        "https://h:81/a/",
        "http://h/a%20b",
    ] {
        assert_eq!(parse(text).to_string(), text);
    }
    assert_eq!(parse("S3://b/c/").to_string(), "s3://b/c");
    assert_eq!(parse("abfss://c@a.dfs.core.windows.net/p").account(), Some("a"));
    assert_eq!(parse("abfss://c@a.dfs.core.windows.net/p").bucket(), "c");
}

#[test]
fn secrets_are_not_shown() {
    let signed = parse("https://me:word@h/a/b.pb?X-Signature=secret");
    assert_eq!(signed.to_string(), "https://h/a/b.pb");
    assert_eq!(format!("{signed:?}"), "Address(https://h/a/b.pb)");
    assert_eq!(signed.url().unwrap().as_str(), "https://me:word@h/a/b.pb?X-Signature=secret");
    let refused = Address::parse("http://me:word@h:port/a?sig=secret").unwrap_err().to_string();
    assert!(!refused.contains("word") && !refused.contains("secret"), "{refused}");
}

#[test]
fn what_is_no_address_is_refused() {
    for (text, found) in [
        ("ftp://h/a", "the scheme `ftp`"),
        ("gs://", "no bucket"),
        ("gs:///a", "no bucket"),
        ("s3://b/../c", ".."),
        ("s3://b/a//c", "empty"),
        ("s3://b d/c", "b d"),
        ("http://", "host"),
        ("logs", "no scheme"),
    ] {
        let error = Address::parse(text).unwrap_err().to_string();
        assert!(error.contains(found), "{text}: {error}");
    }
}

#[test]
fn paths_are_joined_and_named() {
    let logs = parse("s3://b/logs");
    assert_eq!(logs.join("a/b").to_string(), "s3://b/logs/a/b");
    assert_eq!(logs.join("").to_string(), "s3://b/logs");
    assert_eq!(parse("s3://b").join("a").to_string(), "s3://b/a");
    assert_eq!((logs.join("a/b").name(), parse("s3://b").name()), ("b", "b"));
    let web = parse("http://h/logs/?k=v");
    assert_eq!(web.join("a b/c%20d").url().unwrap().as_str(), "http://h/logs/a%20b/c%20d?k=v");
}

#[test]
fn what_lies_below_a_root_is_known() {
    let root = parse("gs://b/logs");
    for text in ["gs://b/logs", "gs://b/logs/", "gs://b/logs/a"] {
        assert!(parse(text).starts_with(&root), "{text}");
    }
    for text in ["gs://b", "gs://b/logs2", "gs://c/logs/a", "s3://b/logs/a"] {
        assert!(!parse(text).starts_with(&root), "{text}");
    }
    let web = parse("https://h/a");
    assert!(parse("https://h/a/b").starts_with(&web) && !parse("http://h/a/b").starts_with(&web));
    assert!(!parse("https://h/a/%2e%2e%2fb").starts_with(&web));
    assert!(parse("https://h/x").starts_with(&parse("https://h")));
}

#[test]
fn what_lies_below_a_root_is_asked_for_as_the_root_is() {
    let root = parse("https://user:word@h/logs?sig=own");
    let asked = parse("https://other:one@h/logs/a%20b/?sig=other");
    assert_eq!(
        asked.within(&root).unwrap().url().unwrap().as_str(),
        "https://user:word@h/logs/a%20b/?sig=own"
    );
    assert!(
        parse("https://h/logs2").within(&root).is_none()
            && parse("https://h:1/logs/a").within(&root).is_none()
    );
    assert_eq!(parse("s3a://b/logs/a").within(&parse("s3://b/logs")).unwrap().to_string(), "s3://b/logs/a");
}
