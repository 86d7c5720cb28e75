//! FLOPs that a transformer needs for one token, from its configuration: what people divide by time and peak for MFU.
//!
//! A multiply-add is two FLOPs. Products with parameters cost 2 a parameter forward and 4 backward (Kaplan et al. 2020:
//! 6N to train, 2N to infer); attention adds `4 x keys x heads x head_dim` a layer forward, three times that in training
//! (Chowdhery et al. 2022: 12 L H Q T). With a causal mask a query meets half of the sequence on average, and half of that
//! is counted. Embedding look-ups, norms, activations and the router's top-k are left out, as usual.

use serde_json::{Map, Value};

use haloscope_report::Error;

/// What of a model's configuration decides its FLOPs. Keys are those of a `config.json` of Hugging Face.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelConfig {
    /// `hidden_size`.
    pub hidden: f64,
    /// `num_hidden_layers`.
    pub layers: f64,
    /// `num_attention_heads`.
    pub heads: f64,
    /// `num_key_value_heads`; as many as heads where it is absent.
    pub kv_heads: f64,
    /// `head_dim`; hidden over heads where it is absent.
    pub head_dim: f64,
    /// `intermediate_size`; with experts `moe_intermediate_size` where that is given.
    pub intermediate: f64,
    /// `vocab_size`.
    pub vocab: f64,
    /// `num_experts`, `num_local_experts` or `n_routed_experts`; 0 in a dense model.
    pub experts: f64,
    /// `num_experts_per_tok`; 0 in a dense model.
    pub experts_per_token: f64,
    /// `n_shared_experts` or `num_shared_experts`, each of `intermediate`; 0 where it is absent.
    pub shared_experts: f64,
    /// Matrices of one feed-forward block: 3 where it is gated (SwiGLU and the like), else 2. By `hidden_act`: gated for
    /// `silu`, `swish`, `swiglu` and `geglu`, and where the key is absent.
    pub feed_forward_matrices: f64,
}

/// What a step does with the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Forward and backward: three times the FLOPs of the forward pass.
    Train,
    /// Forward only.
    Infer,
}

/// FLOPs for one token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenFlops {
    /// In products with parameters: 6N or 2N.
    pub parameters: f64,
    /// In attention, the causal half only.
    pub attention: f64,
    /// In attention, with every query against every key.
    pub attention_full: f64,
}

impl ModelConfig {
    /// Reads a configuration in JSON, or in lines of `key = value` as TOML has them. Where the keys stand in `text_config`
    /// (models of several modalities), those are taken.
    ///
    /// # Errors
    /// [`Error::Usage`] for a text that is neither, for keys that are missing (all are named) and for numbers that cannot be.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let keys = read(text)?;
        let keys = match keys.get("text_config") {
            Some(Value::Object(inner)) => inner,
            _ => &keys,
        };
        let number = |names: &[&str]| names.iter().find_map(|name| keys.get(*name).and_then(Value::as_f64));
        let experts = number(&["num_experts", "num_local_experts", "n_routed_experts"]);
        let experts = experts.filter(|n| *n > 1.0);
        let mut missing: Vec<&str> = Vec::new();
        let mut need = |name: &'static str, value: Option<f64>| {
            if value.is_none() {
                missing.push(name);
            }
            value.unwrap_or(f64::NAN)
        };
        let hidden = need("hidden_size", number(&["hidden_size"]));
        let layers = need("num_hidden_layers", number(&["num_hidden_layers"]));
        let heads = need("num_attention_heads", number(&["num_attention_heads"]));
        let own = experts.and_then(|_| number(&["moe_intermediate_size"]));
        let intermediate = need("intermediate_size", own.or_else(|| number(&["intermediate_size"])));
        let vocab = need("vocab_size", number(&["vocab_size"]));
        let experts_per_token = match experts {
            Some(_) => need("num_experts_per_tok", number(&["num_experts_per_tok", "num_experts_per_token"])),
            None => 0.0,
        };
        if !missing.is_empty() {
            return Err(Error::Usage(format!(
                "the model's configuration has no {}; expected the keys of a Hugging Face config.json",
                missing.join(", ")
            )));
        }
        let gated = keys.get("hidden_act").and_then(Value::as_str).is_none_or(|act| {
            ["silu", "swish", "swiglu", "geglu"].contains(&act.to_ascii_lowercase().as_str())
        });
        let config = Self {
            hidden,
            layers,
            heads,
            kv_heads: number(&["num_key_value_heads"]).unwrap_or(heads),
            head_dim: number(&["head_dim"]).unwrap_or(hidden / heads),
            intermediate,
            vocab,
            experts: experts.unwrap_or(0.0),
            experts_per_token,
            shared_experts: number(&["n_shared_experts", "num_shared_experts"]).unwrap_or(0.0),
            feed_forward_matrices: if gated { 3.0 } else { 2.0 },
        };
        config.check()
    }

    fn check(self) -> Result<Self, Error> {
        let positive = [
            ("hidden_size", self.hidden),
            ("num_hidden_layers", self.layers),
            ("num_attention_heads", self.heads),
            ("num_key_value_heads", self.kv_heads),
            ("head_dim", self.head_dim),
            ("intermediate_size", self.intermediate),
            ("vocab_size", self.vocab),
        ];
        let bad = positive.iter().find(|(_, v)| !(v.is_finite() && *v > 0.0 && *v < 1e9));
        if let Some((name, value)) = bad {
            return Err(Error::Usage(format!(
                "`{name}` of the model's configuration: expected a number above 0, found {value}"
            )));
        }
        if self.experts_per_token > self.experts || self.experts_per_token < 0.0 {
            return Err(Error::Usage(format!(
                "the model's configuration sends a token to {} experts of {}",
                self.experts_per_token, self.experts
            )));
        }
        Ok(self)
    }

    /// True for a model with experts.
    #[must_use]
    pub fn is_mixture(&self) -> bool {
        self.experts > 0.0
    }

    /// Parameters that one token is multiplied with: of the experts those that it is sent to, the router, and the output
    /// projection; not the embedding table, which is only looked up.
    #[must_use]
    pub fn active_parameters(&self) -> f64 {
        self.parameters_with(self.experts_per_token)
    }

    /// All parameters that any token is multiplied with.
    #[must_use]
    pub fn parameters(&self) -> f64 {
        self.parameters_with(self.experts)
    }

    fn parameters_with(&self, experts: f64) -> f64 {
        let attention = self.hidden * self.head_dim * (2.0 * self.heads + 2.0 * self.kv_heads);
        let block = self.feed_forward_matrices * self.hidden * self.intermediate;
        let feed_forward = if self.is_mixture() {
            block * (experts + self.shared_experts) + self.hidden * self.experts
        } else {
            block
        };
        self.layers * (attention + feed_forward) + self.hidden * self.vocab
    }

    /// FLOPs for one token. `keys` is the length of the sequence (causal: a query meets half of it on average), or with
    /// `all_keys` the number of keys that each query meets, as when decoding against a cache.
    #[must_use]
    pub fn token_flops(&self, mode: Mode, keys: f64, all_keys: bool) -> TokenFlops {
        let passes = match mode {
            Mode::Train => 3.0,
            Mode::Infer => 1.0,
        };
        let full = passes * 4.0 * self.layers * keys * self.heads * self.head_dim;
        TokenFlops {
            parameters: passes * 2.0 * self.active_parameters(),
            attention: if all_keys { full } else { full / 2.0 },
            attention_full: full,
        }
    }
}

fn read(text: &str) -> Result<Map<String, Value>, Error> {
    let bad = |why: String| {
        Error::Usage(format!("the model's configuration is neither JSON nor lines of `key = value`: {why}"))
    };
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).map_err(|why| bad(why.to_string()));
    }
    let table: toml::Table = toml::from_str(text).map_err(|why| bad(why.message().to_owned()))?;
    match serde_json::to_value(table) {
        Ok(Value::Object(keys)) => Ok(keys),
        Ok(_) => Err(bad("no keys".into())),
        Err(why) => Err(bad(why.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEVEN_B: &str = r#"{"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "intermediate_size": 11008, "vocab_size": 32000, "hidden_act": "silu", "architectures": ["LlamaForCausalLM"]}"#;

    /// By hand: attention 4 x 4096^2 = 67,108,864; feed-forward 3 x 4096 x 11008 = 135,266,304; 32 layers of both
    /// 6,476,005,376; output projection 4096 x 32000 = 131,072,000.
    #[test]
    fn a_model_of_7_billion_parameters() {
        let model = ModelConfig::parse(SEVEN_B).unwrap();
        assert_eq!(model.active_parameters(), 6_607_077_376.0);
        assert_eq!(model.parameters(), model.active_parameters());
        let train = model.token_flops(Mode::Train, 2048.0, false);
        // 6N.
        assert_eq!(train.parameters, 39_642_464_256.0);
        // 12 x 32 x 4096 x 2048, and half of it.
        assert_eq!(train.attention_full, 3_221_225_472.0);
        assert_eq!(train.attention, 1_610_612_736.0);
        let infer = model.token_flops(Mode::Infer, 2048.0, true);
        // 2N, and 4 x 32 x 4096 x 2048 against all keys of the cache.
        assert_eq!((infer.parameters, infer.attention), (13_214_154_752.0, 1_073_741_824.0));
    }

    /// Mixtral 8x7B: attention 4096 x 128 x (2 x 32 + 2 x 8) = 41,943,040; one expert 3 x 4096 x 14336 = 176,160,768, two
    /// of them active; router 4096 x 8 = 32,768; output 131,072,000. 12.7 billion active parameters of 46.6.
    #[test]
    fn experts_count_where_a_token_goes() {
        let text = "hidden_size = 4096\nnum_hidden_layers = 32\nnum_attention_heads = 32\nnum_key_value_heads = 8\n\
                    intermediate_size = 14336\nvocab_size = 32000\nnum_local_experts = 8\nnum_experts_per_tok = 2\n";
        let model = ModelConfig::parse(text).unwrap();
        let layer = 41_943_040.0 + 2.0 * 176_160_768.0 + 32_768.0;
        assert_eq!(model.active_parameters(), 32.0 * layer + 131_072_000.0);
        assert!((model.active_parameters() / 1e9 - 12.75).abs() < 0.01);
        assert!((model.parameters() / 1e9 - 46.57).abs() < 0.01);
    }

    #[test]
    fn two_matrices_without_a_gate() {
        let gelu = SEVEN_B.replace("silu", "gelu_new");
        let both = [SEVEN_B, &gelu].map(|text| ModelConfig::parse(text).unwrap().active_parameters());
        assert_eq!(both[0] - both[1], 32.0 * 4096.0 * 11008.0);
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let error = |text: &str| ModelConfig::parse(text).unwrap_err().to_string();
        let missing = error(r#"{"hidden_size": 8, "num_experts": 4}"#);
        for key in ["num_hidden_layers", "num_attention_heads", "vocab_size", "num_experts_per_tok"] {
            assert!(missing.contains(key), "{missing}");
        }
        assert!(!missing.contains("lacks hidden_size"), "{missing}");
        assert!(error("{").contains("neither JSON"), "{}", error("{"));
        assert!(error("a b c").contains("key = value"));
        assert!(error(&SEVEN_B.replace("4096", "0")).contains("hidden_size"));
        assert!(error("").contains("hidden_size"));
        let many = SEVEN_B.replace("\"hidden_act\"", "\"num_experts\": 2, \"num_experts_per_tok\": 3, \"x\"");
        assert!(error(&many).contains("3 experts of 2"));
    }

    #[test]
    fn the_text_part_of_a_larger_model() {
        let text = format!("{{\"text_config\": {SEVEN_B}}}");
        assert_eq!(ModelConfig::parse(&text).unwrap().layers, 32.0);
    }
}
