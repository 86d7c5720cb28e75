//! Which layer of a model a name belongs to. A guess: nothing but the name tells.
//!
//! Frameworks number layers in scope paths and in the paths of parameters: `layer_3/attention`, `decoder/layers/3/mlp`,
//! `params['layers_3']['wq']`, `h.3.attn`, `DecoderLayer_3`. Layers that run as a loop share one name and have no number.

use std::fmt;

/// Digits of a number that is believed.
const MOST_DIGITS: usize = 5;

/// What a model calls its layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `layer`, `layers`, `h`.
    Layer,
    /// `block`, `blocks`.
    Block,
}

/// Which half of a model with two a layer is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Half {
    /// A word before the layer holds `encoder`.
    Encoder,
    /// A word before the layer holds `decoder`.
    Decoder,
}

/// A layer of a model. Shown as `decoder layer 3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Layer {
    /// Which half of the model, where the name says it.
    pub half: Option<Half>,
    /// What it is called.
    pub kind: Kind,
    /// Its number.
    pub number: u32,
}

impl Layer {
    /// The outermost layer that a scope path, or the path of a parameter, names.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let mut half = None;
        let is_between = |c: char| !c.is_alphanumeric() && c != '_' && c != '-';
        let mut words = name.split(is_between).filter(|word| !word.is_empty()).peekable();
        while let Some(word) = words.next() {
            half = half_of(word).or(half);
            let head = word.trim_end_matches(|c: char| c.is_ascii_digit());
            let digits = &word[head.len()..];
            let found = if digits.is_empty() {
                let next = words.peek().and_then(|next| number(next));
                kind_of(word).zip(next)
            } else {
                let stem = head.trim_end_matches(['_', '-']);
                // `h3` may be anything, `h_3` is a layer.
                let is_meant = stem.len() > 1 || stem.len() < head.len();
                kind_of(stem).filter(|_| is_meant).zip(number(digits))
            };
            if let Some((kind, number)) = found {
                return Some(Self { half, kind, number });
            }
        }
        None
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.half {
            Some(Half::Encoder) => "encoder ",
            Some(Half::Decoder) => "decoder ",
            None => "",
        })?;
        let kind = match self.kind {
            Kind::Layer => "layer",
            Kind::Block => "block",
        };
        write!(f, "{kind} {}", self.number)
    }
}

fn number(digits: &str) -> Option<u32> {
    let is_one = digits.len() <= MOST_DIGITS && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| is_one)
}

fn kind_of(word: &str) -> Option<Kind> {
    const NAMES: [(&str, Kind); 4] =
        [("layers", Kind::Layer), ("layer", Kind::Layer), ("blocks", Kind::Block), ("block", Kind::Block)];
    if word == "h" {
        return Some(Kind::Layer);
    }
    let is_at_end = |name: &&(&str, Kind)| {
        let Some(at) = word.len().checked_sub(name.0.len()) else { return false };
        let (Some(before), Some(end)) = (word.get(..at), word.get(at..)) else { return false };
        // `decoder_layer` and `DecoderLayer` are layers, `player` is none.
        let is_word = before.is_empty() || before.ends_with(['_', '-']) || end.starts_with(['L', 'B']);
        is_word && end.eq_ignore_ascii_case(name.0)
    };
    NAMES.iter().find(is_at_end).map(|name| name.1)
}

fn half_of(word: &str) -> Option<Half> {
    let holds = |part: &str| {
        word.as_bytes().windows(part.len()).any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
    };
    if holds("encoder") { Some(Half::Encoder) } else { holds("decoder").then_some(Half::Decoder) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Option<String> {
        Layer::of(name).map(|layer| layer.to_string())
    }

    #[test]
    fn frameworks_name_layers_in_many_ways() {
        for name in [
            "jit(decode)/while/body/closed_call/layer_3/attention/add",
            "jit(step)/transpose(jvp(layer_3))/dot_general",
            "params['layer_3']['wq']",
            "params['layers'][3]['wq']",
            "model.layers.3.mlp.down_proj",
            "transformer/h/3/attn",
            "transformer.h_3.attn",
            "Layer_3/mul",
        ] {
            assert_eq!(of(name).as_deref(), Some("layer 3"), "{name}");
        }
        assert_eq!(of("decoder/layers_12/mlp/dot").as_deref(), Some("decoder layer 12"));
        assert_eq!(of("jit(f)/DecoderLayer_0/mul").as_deref(), Some("decoder layer 0"));
        assert_eq!(of("encoder/block3/layer_1/conv").as_deref(), Some("encoder block 3"));
    }

    #[test]
    fn other_numbers_are_no_layers() {
        for name in [
            "",
            "jit(f)/layer_norm_1/mul",
            "player_3/add",
            "h3/add",
            "dot_general_3",
            "while/body/decoder_layer/mlp",
            "params['layers']['mlp']['wi_0']",
            "layer_123456/add",
            "layer\u{e9}_1",
            "ünblock",
        ] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
