//! Attributes and types by their text.

use super::Reader;
use super::words::{closing, list};
use crate::attribute::Attribute;
use crate::error::Error;
use crate::ids::{AttributeId, TypeId};
use crate::module::DEEPEST;
use crate::types::{DYNAMIC, Signedness, Type, float_named};

impl<'a> Reader<'a> {
    /// A dictionary of these members and of those that the text has; `None` for an empty one.
    pub(super) fn dictionary(
        &mut self,
        text: &'a str,
        mut members: Vec<(&'a str, AttributeId)>,
        depth: usize,
    ) -> Result<Option<AttributeId>, Error> {
        if !text.is_empty() {
            members.extend(self.members(text, depth)?);
        }
        if members.is_empty() {
            return Ok(None);
        }
        let members = members.into_iter().map(|(key, value)| (self.string(key), value)).collect();
        Ok(Some(self.attribute(Attribute::Dictionary(members))))
    }

    pub(super) fn members(
        &mut self,
        text: &'a str,
        depth: usize,
    ) -> Result<Vec<(&'a str, AttributeId)>, Error> {
        let inner = text.strip_prefix('{').and_then(|rest| Some(&rest[..closing(rest, '{', '}')?]));
        let Some(inner) = inner else { return self.wrong("attributes in braces") };
        let mut members = Vec::new();
        for member in list(inner) {
            let (key, value) = member.split_once('=').unwrap_or((member, ""));
            let value = self.constant(value.trim(), depth + 1)?;
            members.push((key.trim().trim_matches('"'), value));
        }
        Ok(members)
    }

    /// An attribute by its text: what is not read here stays text.
    fn constant(&mut self, text: &'a str, depth: usize) -> Result<AttributeId, Error> {
        if depth > DEEPEST {
            return Err(Error::TooDeep { limit: DEEPEST });
        }
        if text.is_empty() {
            return Ok(self.attribute(Attribute::Unit));
        }
        if let Some(name) = text.strip_prefix('@') {
            let name = self.string(name.trim_matches('"'));
            return Ok(self.attribute(Attribute::Symbol(name)));
        }
        if let Some(quoted) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            return Ok(self.string(quoted));
        }
        if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let mut all = Vec::new();
            for one in list(inner) {
                all.push(self.constant(one.trim(), depth + 1)?);
            }
            return Ok(self.attribute(Attribute::Array(all)));
        }
        if text.starts_with('{') {
            return match self.dictionary(text, Vec::new(), depth)? {
                Some(dictionary) => Ok(dictionary),
                None => Ok(self.attribute(Attribute::Dictionary(Vec::new()))),
            };
        }
        if let Some(inner) = text.strip_prefix("array<").and_then(|rest| rest.strip_suffix('>')) {
            let (element, numbers) = inner.split_once(':').unwrap_or((inner, ""));
            let width = match element.trim() {
                "i1" | "i8" => Some(1),
                "i32" => Some(4),
                "i64" => Some(8),
                _ => None,
            };
            let numbers: Option<Vec<i64>> = list(numbers).map(|one| one.trim().parse().ok()).collect();
            if let Some((width, numbers)) = width.zip(numbers) {
                let ty = self.ty(element.trim(), 0)?;
                let data: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()[..width].to_vec()).collect();
                let count = numbers.len() as u64;
                return Ok(self.attribute(Attribute::DenseArray { ty, count, data: data.into() }));
            }
        }
        if let "true" | "false" = text {
            return self.integer(i64::from(text == "true"), "i1");
        }
        let (number, ty) = text.split_once(':').unwrap_or((text, "i64"));
        if let Ok(value) = number.trim().parse()
            && let ty = self.ty(ty.trim(), 0)?
            && matches!(self.module.ty(ty), Type::Integer { .. } | Type::Index)
        {
            return Ok(self.attribute(Attribute::Integer { ty, value }));
        }
        let text = self.aliases.get(text).copied().unwrap_or(text);
        Ok(self.attribute(Attribute::Text(text.into())))
    }

    /// Types in brackets, or one.
    pub(super) fn types(&mut self, text: &'a str) -> Result<Vec<TypeId>, Error> {
        let text = text.trim();
        let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(text);
        list(inner).map(|one| self.ty(one.trim(), 0)).collect()
    }

    pub(super) fn push_type(&mut self, ty: Type) -> TypeId {
        self.module.types.push(ty);
        TypeId(self.module.types.len() as u32 - 1)
    }

    pub(super) fn ty(&mut self, text: &'a str, depth: usize) -> Result<TypeId, Error> {
        if let Some(known) = self.types.get(text) {
            return Ok(*known);
        }
        if depth > DEEPEST {
            return Err(Error::TooDeep { limit: DEEPEST });
        }
        let ty = self.read_type(text, depth)?;
        let id = self.push_type(ty);
        self.types.insert(text, id);
        Ok(id)
    }

    fn read_type(&mut self, text: &'a str, depth: usize) -> Result<Type, Error> {
        for (head, signedness) in
            [("i", Signedness::Signless), ("si", Signedness::Signed), ("ui", Signedness::Unsigned)]
        {
            if let Some(width) = text.strip_prefix(head).and_then(|width| width.parse().ok()) {
                return Ok(Type::Integer { width, signedness });
            }
        }
        if text == "index" {
            return Ok(Type::Index);
        }
        if let Some(float) = float_named(text) {
            return Ok(Type::Float(float));
        }
        let inner = |head: &str| text.strip_prefix(head).and_then(|rest| rest.strip_suffix('>'));
        if let Some(inner) = inner("vector<").filter(|inner| !inner.contains('[')) {
            let Some((shape, element)) = shape(inner) else { return self.wrong("a vector's shape") };
            let element = self.ty(element, depth + 1)?;
            return Ok(Type::Vector { shape, scalable: Vec::new(), element });
        }
        if let Some(inner) = inner("memref<").filter(|inner| !inner.starts_with('*')) {
            let mut parts = list(inner).map(str::trim);
            let Some((shape, element)) = parts.next().and_then(shape) else {
                return self.wrong("a reference's shape");
            };
            let element = self.ty(element, depth + 1)?;
            let (mut layout, mut space) = (None, None);
            for part in parts {
                let part = self.aliases.get(part).copied().unwrap_or(part);
                let is_layout =
                    part.starts_with("affine_map<") || part.starts_with("strided<") || part.contains("tiled");
                let id = self.attribute(Attribute::Text(part.into()));
                if is_layout { layout = Some(id) } else { space = Some(id) }
            }
            let layout = match layout {
                Some(layout) => layout,
                None => self.attribute(Attribute::Text("affine_map<() -> ()>".into())),
            };
            return Ok(Type::MemRef { shape, element, layout, space });
        }
        Ok(Type::Text(text.into()))
    }
}

/// Extents and the element's type of `512x128xbf16`.
fn shape(text: &str) -> Option<(Vec<i64>, &str)> {
    let (mut shape, mut rest) = (Vec::new(), text);
    while let Some((extent, after)) = rest.split_once('x') {
        match extent {
            "?" => shape.push(DYNAMIC),
            digits if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
                shape.push(digits.parse().ok()?);
            }
            _ => break,
        }
        rest = after;
    }
    (!rest.is_empty()).then_some((shape, rest))
}
