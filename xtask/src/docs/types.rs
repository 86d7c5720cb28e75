//! `web/src/api/generated.ts`: the types of what the server answers, read from the Rust types that it writes.
//!
//! A shape is found by its Rust name among the types below `crates/` that are serialised; its fields are those of the struct, or
//! where serialisation is written out, those that the code names. What the code computes there is in [`COMPUTED`]. A test holds
//! every report of the fixtures against the shapes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use haloscope_time::account::{Class, Group};
#[cfg(test)]
use serde_json::Value as Json;
use syn::{
    Attribute, Expr, Fields, GenericArgument, ImplItem, Item, ItemEnum, ItemImpl, ItemStruct, Lit, Meta,
    PathArguments, Stmt,
};

/// Where the types stand, from the root.
pub(super) const PLACE: &str = "web/src/api/generated.ts";

/// The shapes: the Rust type, a word of its file's path that tells it from others of that name, and what the page calls it.
const SHAPES: &[(&str, &str, &str)] = &[
    ("Report", "report", "Report"),
    ("ScopeSummary", "report", "ScopeSummary"),
    ("Provenance", "report", "Provenance"),
    ("FileRead", "report", "FileRead"),
    ("Coverage", "report", "Coverage"),
    ("PeakUsed", "report", "PeakUsed"),
    ("Quality", "report", "Quality"),
    ("Severity", "report", "Severity"),
    ("Value", "report", "Value"),
    ("Status", "report", "Status"),
    ("Table", "report", "Table"),
    ("Column", "report", "Column"),
    ("Kind", "report", "Kind"),
    ("Tree", "report", "Tree"),
    ("Node", "report", "TreeNode"),
    ("Series", "report", "Series"),
    ("Axis", "report", "Axis"),
    ("Finding", "report", "Finding"),
    ("Link", "report", "Link"),
    ("Text", "report", "ReportText"),
    ("Gate", "report", "Gate"),
    ("Analyses", "serve", "Analyses"),
    ("AnalysisInfo", "serve", "AnalysisInfo"),
    ("FamilyInfo", "serve", "FamilyInfo"),
    ("ParamInfo", "serve", "ParamInfo"),
    ("MenuGroup", "analysis", "MenuGroup"),
    ("Runs", "serve", "Runs"),
    ("RunInfo", "serve", "RunInfo"),
    ("Stale", "serve", "Stale"),
    ("Progress", "serve", "Progress"),
    ("SourceState", "serve", "SourceState"),
    ("SourceText", "serve", "SourceText"),
    ("Captures", "serve", "Captures"),
    ("Capture", "serve", "Capture"),
    ("CaptureServer", "serve", "CaptureServer"),
    ("CaptureFile", "serve", "CaptureFile"),
    ("SqlAbout", "sql", "SqlAbout"),
    ("SqlTable", "sql", "SqlTable"),
    ("SqlTableColumn", "sql", "SqlTableColumn"),
    ("SqlFunction", "sql", "SqlFunction"),
    ("SqlQuestion", "sql", "SqlQuestion"),
    ("SqlAnswer", "sql", "SqlAnswer"),
    ("SqlColumn", "sql", "SqlColumn"),
    ("Tracks", "timeline", "Tracks"),
    ("Group", "timeline", "TrackGroup"),
    ("Track", "timeline", "TrackInfo"),
    ("Counters", "timeline", "Counters"),
    ("TrackCounters", "timeline", "TrackCounters"),
    ("Counter", "timeline", "Counter"),
    ("EventDetails", "timeline", "EventDetails"),
    ("OpDetails", "timeline", "OpDetails"),
    ("EventPeaks", "timeline", "EventPeaks"),
    ("Frame", "timeline", "SourceFrame"),
    ("EventStat", "timeline", "EventStat"),
    ("Found", "timeline", "SearchAnswer"),
    ("Hit", "timeline", "Hit"),
    ("NameCount", "timeline", "NameCount"),
    ("Totals", "timeline", "Totals"),
    ("NameTotal", "timeline", "OpTotal"),
    ("CategoryTotal", "timeline", "CategoryTotal"),
    ("TrackTotal", "timeline", "TrackTotal"),
    ("NameStacks", "timeline", "NameStacks"),
    ("StackNode", "timeline", "StackNode"),
    ("Flows", "timeline", "Flows"),
    ("Flow", "timeline", "Flow"),
    ("FlowKind", "timeline", "FlowKind"),
    ("FlowEnd", "timeline", "FlowEnd"),
    ("Ruler", "timeline", "Steps"),
    ("RulerStep", "timeline", "StepSpan"),
    ("Overlap", "timeline", "Overlap"),
    ("DeviceOverlap", "timeline", "DeviceOverlap"),
    ("StepGaps", "timeline", "StepGaps"),
    ("Utilisation", "timeline", "Utilisation"),
    ("Clock", "timeline", "Clock"),
    ("HostClock", "timeline", "HostClock"),
];

/// Fields whose serialisation computes something: the shape, the field, its type in Rust, and what it is.
const COMPUTED: &[(&str, &str, &str, &str)] = &[
    ("Report", "version", "u32", "The version of this shape."),
    ("Report", "values", "BTreeMap<String, Value>", "Headline numbers by id, in reading order."),
    (
        "Report",
        "passed",
        "Option<bool>",
        "Whether what was asked for holds; null where nothing was, or nobody can tell.",
    ),
    ("Report", "gate", "Option<Gate>", "The same with a third outcome."),
    ("Value", "kind", "Kind", "As a column's."),
    // JSON has no number that is none.
    ("Series", "points", "Vec<(f64, Option<f64>)>", "Points in order of x; null where y is not known."),
    ("Series", "x", "Axis", "Label and unit of x."),
    ("Series", "y", "Axis", "Label and unit of y."),
];

/// A type as JSON has it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Type {
    Text,
    Number,
    Flag,
    /// Text, number, flag or nothing.
    Cell,
    /// Or nothing.
    Maybe(Box<Type>),
    List(Box<Type>),
    Tuple(Vec<Type>),
    /// By name.
    Map(Box<Type>),
    Shape(&'static str),
}

#[derive(Debug)]
struct Field {
    name: String,
    doc: String,
    ty: Type,
    /// Left out where there is nothing to say.
    is_optional: bool,
}

#[derive(Debug)]
enum Body {
    Fields(Vec<Field>),
    Words(Vec<String>),
}

#[derive(Debug)]
struct Shape {
    name: &'static str,
    doc: String,
    body: Body,
}

/// All shapes.
#[derive(Debug)]
pub(super) struct Shapes(Vec<Shape>);

impl Shapes {
    /// Reads the sources below `crates/`.
    ///
    /// # Errors
    /// A shape that is not there or stands twice, or whose fields cannot be told.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let sources = Sources::read(root)?;
        let shapes = SHAPES
            .iter()
            .map(|&(rust, near, ts)| sources.shape(rust, near, ts).with_context(|| format!("`{rust}`")));
        Ok(Self(shapes.collect::<Result<_>>()?))
    }

    /// They as TypeScript.
    pub(super) fn typescript(&self) -> String {
        let mut out = String::from(
            "/** What the server answers. Written by `cargo xtask docs --write` from the Rust types that it writes; not edited by hand. */\n\n\
             import type { Cell } from \"../base/format\";\n",
        );
        for Shape { name, doc, body } in &self.0 {
            out += &format!("\n/** {doc} */\n");
            match body {
                Body::Words(words) => {
                    let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                    out += &format!("export type {name} = {};\n", words.join(" | "));
                }
                Body::Fields(fields) => {
                    out += &format!("export interface {name} {{\n");
                    for Field { name, doc, ty, is_optional } in fields {
                        let mark = if *is_optional { "?" } else { "" };
                        out += &format!("  /** {doc} */\n  readonly {name}{mark}: {};\n", ty.typescript());
                    }
                    out += "}\n";
                }
            }
        }
        out + &time_classes()
    }

    /// What of a value is not of the shape with this name.
    ///
    /// # Errors
    /// The first place that is not, and what it holds.
    #[cfg(test)]
    pub(super) fn check(&self, shape: &str, value: &Json) -> Result<()> {
        let Some(of) = self.0.iter().find(|one| one.name == shape) else {
            bail!("there is no shape {shape}")
        };
        match (&of.body, value) {
            (Body::Words(words), Json::String(word)) if words.contains(word) => Ok(()),
            (Body::Fields(fields), Json::Object(map)) => {
                for field in fields {
                    if field.is_optional && !map.contains_key(&field.name) {
                        continue;
                    }
                    let found =
                        map.get(&field.name).with_context(|| format!("{shape} has no {}", field.name))?;
                    self.fits(&field.ty, found).with_context(|| format!("{shape}.{}", field.name))?;
                }
                let stray = map.keys().find(|key| fields.iter().all(|field| field.name != **key));
                stray.map_or(Ok(()), |key| bail!("{shape} says nothing of {key}"))
            }
            _ => bail!("{value} is no {shape}"),
        }
    }

    #[cfg(test)]
    fn fits(&self, ty: &Type, value: &Json) -> Result<()> {
        match (ty, value) {
            (Type::Maybe(_) | Type::Cell, Json::Null)
            | (Type::Text | Type::Cell, Json::String(_))
            | (Type::Number | Type::Cell, Json::Number(_))
            | (Type::Flag | Type::Cell, Json::Bool(_)) => Ok(()),
            (Type::Maybe(of), value) => self.fits(of, value),
            (Type::List(of), Json::Array(all)) => all.iter().try_for_each(|one| self.fits(of, one)),
            (Type::Tuple(of), Json::Array(all)) if of.len() == all.len() => {
                of.iter().zip(all).try_for_each(|(of, one)| self.fits(of, one))
            }
            (Type::Map(of), Json::Object(all)) => all.values().try_for_each(|one| self.fits(of, one)),
            (Type::Shape(name), value) => self.check(name, value),
            _ => bail!("{value} is no {}", ty.typescript()),
        }
    }
}

/// The classes of an account of time, as bars stack them: what a device is for, what it waits for, and when it runs nothing.
fn time_classes() -> String {
    let mut all: Vec<Class> = Class::ALL.into_iter().rev().collect();
    all.sort_by_key(|class| match class.group() {
        Group::Working => 0,
        Group::Waiting => 1,
        Group::Idle => 2,
    });
    let one = |class: &Class| {
        let (column, name) = (class.column().id, class.phrase());
        let group = class.group().word();
        let outside = matches!(class, Class::Before | Class::After);
        format!("  {{ id: \"{column}\", name: \"{name}\", group: \"{group}\", outside: {outside} }},\n")
    };
    let rows: String = all.iter().map(one).collect();
    format!(
        "\n/** The classes of an account of time in the order in which bars stack them: the column that holds each, its name, whether an op\n * works, waits or none runs, and whether it lies outside of the active window. */\n\
         export const TIME_CLASSES = [\n{rows}] as const;\n"
    )
}

impl Type {
    fn typescript(&self) -> String {
        match self {
            Self::Text => "string".into(),
            Self::Number => "number".into(),
            Self::Flag => "boolean".into(),
            Self::Cell => "Cell".into(),
            Self::Maybe(of) => format!("{} | null", of.typescript()),
            Self::List(of) => match &**of {
                Self::Maybe(_) | Self::List(_) | Self::Tuple(_) => {
                    format!("readonly ({})[]", of.typescript())
                }
                _ => format!("readonly {}[]", of.typescript()),
            },
            Self::Tuple(of) => {
                format!("readonly [{}]", of.iter().map(Self::typescript).collect::<Vec<_>>().join(", "))
            }
            Self::Map(of) => format!("Readonly<Record<string, {}>>", of.typescript()),
            Self::Shape(name) => (*name).into(),
        }
    }
}

/// Fields that a serialisation names, and what it writes for each.
type Written = Vec<(String, Expr)>;

/// Types that are serialised, by name and file.
#[derive(Default)]
struct Sources {
    structs: Vec<(PathBuf, ItemStruct)>,
    enums: Vec<(PathBuf, ItemEnum)>,
    /// Serialisations that are written out: the fields and what they are of.
    written: Vec<(PathBuf, String, Written)>,
    aliases: Vec<(PathBuf, String, syn::Type)>,
}

impl Sources {
    fn read(root: &Path) -> Result<Self> {
        let mut out = Self::default();
        let mut files = Vec::new();
        collect(&root.join("crates"), &mut files)?;
        files.sort_unstable();
        for path in files {
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            if !text.contains("Serialize") && !text.contains("pub struct") {
                continue;
            }
            let file = syn::parse_file(&text).with_context(|| format!("cannot parse {}", path.display()))?;
            let path = path.strip_prefix(root).unwrap_or(&path).to_owned();
            for item in file.items {
                out.add(&path, item);
            }
        }
        Ok(out)
    }

    fn add(&mut self, path: &Path, item: Item) {
        match item {
            Item::Struct(item) => self.structs.push((path.to_owned(), item)),
            Item::Enum(item) if is_serialised(&item.attrs) => self.enums.push((path.to_owned(), item)),
            Item::Type(item) => self.aliases.push((path.to_owned(), item.ident.to_string(), *item.ty)),
            Item::Impl(item) => self.add_impl(path, item),
            _ => {}
        }
    }

    /// A serialisation that is written out.
    fn add_impl(&mut self, path: &Path, item: ItemImpl) {
        let is = item
            .trait_
            .as_ref()
            .and_then(|(_, of, _)| of.segments.last())
            .is_some_and(|last| last.ident == "Serialize");
        let syn::Type::Path(of) = *item.self_ty else { return };
        let (true, Some(name)) = (is, of.path.segments.last().map(|last| last.ident.to_string())) else {
            return;
        };
        let mut fields = Vec::new();
        for inner in item.items {
            let ImplItem::Fn(function) = inner else { continue };
            for statement in function.block.stmts {
                match statement {
                    Stmt::Item(item) => self.add(path, item),
                    Stmt::Expr(Expr::Try(call), _) => fields.extend(field_of(*call.expr)),
                    _ => {}
                }
            }
        }
        if !fields.is_empty() {
            self.written.push((path.to_owned(), name, fields));
        }
    }

    fn shape(&self, rust: &str, near: &str, ts: &'static str) -> Result<Shape> {
        let is_near = |path: &Path| {
            path.components().any(|part| part.as_os_str().to_string_lossy().trim_end_matches(".rs") == near)
        };
        let written = self
            .written
            .iter()
            .find(|(path, name, _)| name == rust && is_near(path))
            .map(|(_, _, fields)| fields);
        let fits =
            |path: &Path, attrs: &[Attribute]| is_near(path) && (written.is_some() || is_serialised(attrs));
        let structs: Vec<_> = self
            .structs
            .iter()
            .filter(|(path, item)| item.ident == rust && fits(path, &item.attrs))
            .collect();
        let enums: Vec<_> =
            self.enums.iter().filter(|(path, item)| item.ident == rust && is_near(path)).collect();
        match (structs[..].as_ref(), enums[..].as_ref()) {
            ([(path, item)], []) => {
                let body = Body::Fields(match written {
                    Some(written) => self.written_fields(rust, item, written, path)?,
                    None => self.fields(item, path)?,
                });
                Ok(Shape { name: ts, doc: doc(&item.attrs), body })
            }
            ([], [(_, item)]) => {
                Ok(Shape { name: ts, doc: doc(&item.attrs), body: Body::Words(words(item)?) })
            }
            (structs, enums) => bail!(
                "expected one serialised type of this name in a file near `{near}`, found {}; mend SHAPES in xtask/src/docs/types.rs",
                structs.len() + enums.len()
            ),
        }
    }

    fn fields(&self, item: &ItemStruct, path: &Path) -> Result<Vec<Field>> {
        let mut out = Vec::new();
        for field in &item.fields {
            let serde = serde_words(&field.attrs)?;
            if serde.contains_key("skip") {
                continue;
            }
            if serde.contains_key("flatten") {
                let name = last_word(&field.ty).context("a flattened field of no named type")?;
                let (inner_path, inner) = self
                    .structs
                    .iter()
                    .find(|(_, item)| item.ident == name.as_str())
                    .context("a flattened type that is not there")?;
                out.extend(self.fields(inner, inner_path)?);
                continue;
            }
            let name = field.ident.as_ref().context("a field without a name")?.to_string();
            let name = serde.get("rename").cloned().unwrap_or(name);
            let ty = self.resolve(&field.ty, path).with_context(|| format!("field `{name}`"))?;
            let is_optional = serde.contains_key("skip_serializing_if");
            let ty = match ty {
                Type::Maybe(of) if is_optional => *of,
                ty => ty,
            };
            out.push(Field { name, doc: doc(&field.attrs), ty, is_optional });
        }
        Ok(out)
    }

    fn written_fields(
        &self,
        rust: &str,
        item: &ItemStruct,
        written: &[(String, Expr)],
        path: &Path,
    ) -> Result<Vec<Field>> {
        let Fields::Named(named) = &item.fields else { bail!("expected a struct with named fields") };
        let mut out = Vec::new();
        for (name, expr) in written {
            if let Some((_, _, ty, doc)) =
                COMPUTED.iter().find(|(of, field, _, _)| *of == rust && field == name)
            {
                let ty = self.resolve(&syn::parse_str(ty)?, path)?;
                out.push(Field { name: name.clone(), doc: (*doc).into(), ty, is_optional: false });
                continue;
            }
            let own = own_field(expr)
                .with_context(|| format!("`{name}` is computed: name its type in COMPUTED"))?;
            let field =
                named.named.iter().find(|field| field.ident.as_ref().is_some_and(|ident| *ident == own));
            let field = field.with_context(|| format!("no field `{own}`"))?;
            let ty = self.resolve(&field.ty, path).with_context(|| format!("field `{name}`"))?;
            out.push(Field { name: name.clone(), doc: doc(&field.attrs), ty, is_optional: false });
        }
        Ok(out)
    }

    /// A Rust type as JSON has it. `path` is the file that it stands in.
    fn resolve(&self, ty: &syn::Type, path: &Path) -> Result<Type> {
        let of = match ty {
            syn::Type::Reference(to) => return self.resolve(&to.elem, path),
            syn::Type::Paren(inner) => return self.resolve(&inner.elem, path),
            syn::Type::Slice(of) => return Ok(Type::List(Box::new(self.resolve(&of.elem, path)?))),
            syn::Type::Array(of) => {
                let Expr::Lit(syn::ExprLit { lit: Lit::Int(count), .. }) = &of.len else {
                    bail!("an array of unknown length")
                };
                return Ok(Type::Tuple(vec![self.resolve(&of.elem, path)?; count.base10_parse()?]));
            }
            syn::Type::Tuple(of) => {
                return Ok(Type::Tuple(
                    of.elems.iter().map(|one| self.resolve(one, path)).collect::<Result<_>>()?,
                ));
            }
            syn::Type::Path(of) => of,
            _ => bail!("a type that JSON does not have"),
        };
        let last = of.path.segments.last().context("a type without a name")?;
        let inner = match &last.arguments {
            PathArguments::AngleBracketed(all) => all
                .args
                .iter()
                .filter_map(|arg| if let GenericArgument::Type(ty) = arg { Some(ty) } else { None })
                .collect(),
            _ => Vec::new(),
        };
        let inner = |at: usize| {
            inner
                .get(at)
                .copied()
                .context("a type without its parameter")
                .and_then(|ty| self.resolve(ty, path))
        };
        Ok(match last.ident.to_string().as_str() {
            "String" | "str" | "PathBuf" | "Unit" => Type::Text,
            "bool" => Type::Flag,
            "u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64" | "f32" | "f64" => Type::Number,
            "Cell" => Type::Cell,
            "Option" => Type::Maybe(Box::new(inner(0)?)),
            "Vec" => Type::List(Box::new(inner(0)?)),
            "Box" | "Arc" | "Cow" => inner(0)?,
            "BTreeMap" => Type::Map(Box::new(inner(1)?)),
            name => {
                if let Some((file, _, ty)) =
                    self.aliases.iter().find(|(file, alias, _)| file == path && alias == name)
                {
                    return self.resolve(ty, file);
                }
                let near = |near: &str| {
                    path.components()
                        .any(|part| part.as_os_str().to_string_lossy().trim_end_matches(".rs") == near)
                };
                let known = SHAPES.iter().filter(|(rust, ..)| *rust == name);
                let (_, _, ts) = known.max_by_key(|(_, place, _)| near(place)).with_context(|| {
                    format!("`{name}` is no shape; add it to SHAPES in xtask/src/docs/types.rs")
                })?;
                Type::Shape(ts)
            }
        })
    }
}

/// `out.serialize_field("name", expression)`.
fn field_of(call: Expr) -> Option<(String, Expr)> {
    let Expr::MethodCall(call) = call else { return None };
    if call.method != "serialize_field" {
        return None;
    }
    let mut args = call.args.into_iter();
    let (Some(Expr::Lit(name)), Some(value)) = (args.next(), args.next()) else { return None };
    let Lit::Str(name) = name.lit else { return None };
    Some((name.value(), value))
}

/// The field in `self.field` and `&self.field`.
fn own_field(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Reference(to) => own_field(&to.expr),
        Expr::Field(field) => match (&*field.base, &field.member) {
            (Expr::Path(base), syn::Member::Named(name)) if base.path.is_ident("self") => {
                Some(name.to_string())
            }
            _ => None,
        },
        _ => None,
    }
}

/// The words of an enum without data.
fn words(item: &ItemEnum) -> Result<Vec<String>> {
    let style = serde_words(&item.attrs)?.remove("rename_all").unwrap_or_default();
    let mut out = Vec::new();
    for variant in &item.variants {
        if !matches!(variant.fields, Fields::Unit) {
            bail!("`{}` holds data: no word stands for it", variant.ident);
        }
        let name = variant.ident.to_string();
        let word = match (serde_words(&variant.attrs)?.remove("rename"), style.as_str()) {
            (Some(word), _) => word,
            (None, "lowercase") => name.to_lowercase(),
            (None, "snake_case") => snake(&name),
            (None, "") => name,
            (None, other) => bail!("words in {other}"),
        };
        if !out.contains(&word) {
            out.push(word);
        }
    }
    Ok(out)
}

fn snake(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

/// Whether a type derives its serialisation.
fn is_serialised(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| {
        let mut found = false;
        if attr.path().is_ident("derive") {
            // What cannot be read derives something else.
            let _ = attr.parse_nested_meta(|meta| {
                found |= meta.path.segments.last().is_some_and(|last| last.ident == "Serialize");
                Ok(())
            });
        }
        found
    })
}

/// What `#[serde(…)]` says: words, and their values where they have some.
fn serde_words(attrs: &[Attribute]) -> Result<BTreeMap<String, String>> {
    let mut out = BTreeMap::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
        attr.parse_nested_meta(|meta| {
            let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            let value = if meta.input.peek(syn::Token![=]) {
                meta.value()?.parse::<syn::LitStr>()?.value()
            } else {
                String::new()
            };
            out.insert(name, value);
            Ok(())
        })?;
    }
    Ok(out)
}

/// Doc comments as one line of TypeScript's.
fn doc(attrs: &[Attribute]) -> String {
    let lines = attrs.iter().filter_map(|attr| match &attr.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    });
    let text = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let mut out = String::new();
    // Links between items of Rust become names: [`Totals::by_op`].
    let mut rest = text.as_str();
    while let Some((before, link)) = rest.split_once("[`") {
        let Some((name, after)) = link.split_once("`]") else { break };
        out += before;
        out += &format!("`{}`", name.rsplit("::").next().unwrap_or(name));
        rest = after;
    }
    out += rest;
    out.replace("`None`", "null").replace("*/", "* /")
}

fn last_word(ty: &syn::Type) -> Option<String> {
    let syn::Type::Path(of) = ty else { return None };
    of.path.segments.last().map(|last| last.ident.to_string())
}

/// Rust files of sources, those of tests excepted.
fn collect(folder: &Path, out: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        let is_tests = path.file_stem().is_some_and(|stem| stem == "tests");
        if path.is_dir() && !is_tests {
            collect(&path, out)?;
        } else if path.extension().is_some_and(|end| end == "rs") && !is_tests {
            out.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shapes_say_what_is_optional_and_what_is_a_list() {
        let shapes = Shapes::read(&crate::root()).unwrap();
        let text = shapes.typescript();
        for line in [
            "readonly speedup: number | null;",
            "readonly variant?: string;",
            "readonly params: readonly (readonly [string, string])[];",
            "readonly window_ps: readonly [number, number] | null;",
            "readonly values: Readonly<Record<string, Value>>;",
            "export type Gate = \"passed\" | \"failed\" | \"not_comparable\";",
            "export type MenuGroup = \"start\"",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        let op = text.split("export interface EventDetails").nth(1).and_then(|rest| rest.split('}').next());
        assert!(op.is_some_and(|fields| fields.contains("readonly bound_by: string | null;")), "flattened");
    }

    #[test]
    fn what_is_not_of_a_shape_is_named() {
        let shapes = Shapes::read(&crate::root()).unwrap();
        let axis = json!({"label": "x", "unit": "ps"});
        assert!(shapes.check("Axis", &axis).is_ok());
        let wrong = |value: Json| format!("{:#}", shapes.check("Axis", &value).unwrap_err());
        assert_eq!(wrong(json!({"label": "x"})), "Axis has no unit");
        assert_eq!(wrong(json!({"label": 1, "unit": ""})), "Axis.label: 1 is no string");
        assert_eq!(wrong(json!({"label": "x", "unit": "", "z": 1})), "Axis says nothing of z");
        assert!(shapes.check("Severity", &json!("loud")).is_err());
    }
}
