//! The peak FLOP rate of a device by the type of what is multiplied.
//!
//! Profiles and tables state the dense rate of 16-bit floats. Where a vendor states another for a narrower type, the factor
//! between both stands here; for all other types the 16-bit rate is used, and said to be.

use haloscope_hlo::{ElementType, Module};

use haloscope_profile::{Device, DeviceKind, Profile, Stat};
use haloscope_time::op_class::body;
use haloscope_time::op_meta::OpMeta;

/// What a matrix unit tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Precision {
    /// Whole numbers of 8 bits and less.
    Int8,
    /// Floats of 8 bits and less.
    Float8,
    /// bf16 and fp16.
    Float16,
    /// fp32.
    Float32,
    /// fp64 and complex numbers.
    Float64,
}

impl Precision {
    /// The word used in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Int8 => "int8",
            Self::Float8 => "fp8",
            Self::Float16 => "16-bit float",
            Self::Float32 => "fp32",
            Self::Float64 => "fp64",
        }
    }

    /// That of an element type; `None` for what no matrix unit multiplies.
    #[must_use]
    pub fn of(element: ElementType) -> Option<Self> {
        use ElementType as E;
        match element {
            E::S8 | E::U8 | E::S4 | E::U4 | E::S2 | E::U2 => Some(Self::Int8),
            E::F8E5M2
            | E::F8E4M3
            | E::F8E4M3Fn
            | E::F8E4M3B11Fnuz
            | E::F8E3M4
            | E::F8E5M2Fnuz
            | E::F8E4M3Fnuz
            | E::F4E2M1Fn
            | E::F6E3M2Fn
            | E::F6E2M3Fn => Some(Self::Float8),
            E::F16 | E::Bf16 => Some(Self::Float16),
            E::F32 => Some(Self::Float32),
            E::F64 | E::C64 | E::C128 => Some(Self::Float64),
            _ => None,
        }
    }

    /// That of an op's matrix product: of the wider of its operands. By the program where it is at hand, else by the types in
    /// the op's expression where they agree; `None` where nothing tells.
    #[must_use]
    pub fn of_op(op: &OpMeta<'_>, hlo: Option<(&Module, haloscope_hlo::InstructionIdx)>) -> Option<Self> {
        if let Some((module, index)) = hlo {
            let products = body(module, index).into_iter().filter_map(|part| module.matmul(part));
            let widest = products.filter_map(|p| Self::of(p.lhs).max(Self::of(p.rhs))).max();
            if widest.is_some() {
                return widest;
            }
        }
        Self::in_expression(&op.expression)
    }

    /// The precision that all floats (or else all narrow integers) in an HLO expression share.
    fn in_expression(expression: &str) -> Option<Self> {
        let mut found: Option<Self> = None;
        for (at, _) in expression.match_indices('[') {
            let before = expression.get(..at)?;
            let word = before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next()?;
            let Some(precision) = ElementType::from_name(word).and_then(Self::of) else { continue };
            match found {
                None => found = Some(precision),
                Some(known) if known != precision => return None,
                Some(_) => {}
            }
        }
        found
    }
}

/// A peak FLOP rate, and what it is the peak of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TypedPeak {
    /// FLOP/s of one device.
    pub rate: f64,
    /// The type whose peak it is; 16-bit floats where nobody states that of the type asked for.
    pub of: Precision,
}

/// The peaks of a device by type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TypedPeaks {
    base: f64,
    /// Factors of 8-bit floats and 8-bit integers over 16-bit floats, where a vendor states them.
    float8: Option<f64>,
    int8: Option<f64>,
}

/// Factors of the vendors' dense peaks: device type, 8-bit floats, 8-bit integers. v5e 394 TOP/s int8 and 197 TFLOP/s bf16;
/// v5p 918 and 459; v6e 1836 and 918; v7x 4614 fp8 and 2307 bf16 a chip. v4 has one rate for both.
const TPUS: [(&str, Option<f64>, Option<f64>); 5] = [
    ("TPU v4", None, Some(1.0)),
    ("TPU v5 Lite", None, Some(2.0)),
    ("TPU v5", None, Some(2.0)),
    ("TPU v6 Lite", None, Some(2.0)),
    ("TPU v7x", Some(2.0), None),
];

impl TypedPeaks {
    /// Those of a device; `None` where not even the 16-bit peak is known.
    #[must_use]
    pub fn of(profile: &Profile, device: &Device) -> Option<Self> {
        let base = device.peaks.flops?.rate;
        let (float8, int8) = match device.kind {
            DeviceKind::Tpu => {
                let row = TPUS.iter().find(|row| row.0 == device.type_name);
                row.map_or((None, None), |row| (row.1, row.2))
            }
            DeviceKind::Gpu => {
                let plane = profile.plane(device.plane);
                let number = |name| plane.stat(name).and_then(Stat::as_i64);
                let is_nvidia = !device.type_name.starts_with("AMD");
                nvidia(number("compute_cap_major").filter(|_| is_nvidia), number("compute_cap_minor"))
            }
            DeviceKind::Cpu => (None, None),
        };
        Some(Self { base, float8, int8 })
    }

    /// A device whose 16-bit peak somebody states.
    #[must_use]
    pub fn stated(rate: f64) -> Self {
        Self { base: rate, float8: None, int8: None }
    }

    /// The 16-bit peak, FLOP/s of one device.
    #[must_use]
    pub fn base(&self) -> f64 {
        self.base
    }

    /// The peak for a type.
    #[must_use]
    pub fn peak(&self, precision: Option<Precision>) -> TypedPeak {
        let factor = match precision {
            Some(Precision::Float8) => self.float8,
            Some(Precision::Int8) => self.int8,
            _ => None,
        };
        let of = precision.filter(|_| factor.is_some()).unwrap_or(Precision::Float16);
        TypedPeak { rate: self.base * factor.unwrap_or(1.0), of }
    }
}

/// NVIDIA's tensor cores multiply 8-bit integers twice as fast since compute capability 7.5, 8-bit floats since 8.9; 10.3
/// gave up most of the integers.
fn nvidia(major: Option<i64>, minor: Option<i64>) -> (Option<f64>, Option<f64>) {
    let Some(capability) = major.map(|major| (major, minor.unwrap_or(0))) else { return (None, None) };
    let float8 = (capability >= (8, 9)).then_some(2.0);
    let int8 = ((7, 5)..(10, 3)).contains(&capability).then_some(2.0);
    (float8, int8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_in_expressions() {
        let of = Precision::in_expression;
        assert_eq!(of("%f = bf16[8,128]{1,0} fusion(bf16[8]{0} %a, s32[] %i)"), Some(Precision::Float16));
        assert_eq!(of("%f = (f32[8]{0}, bf16[8]{0}) fusion(bf16[8]{0} %a)"), None);
        assert_eq!(of("%f = s32[8]{0} dot(s8[8]{0} %a, s8[8] %b)"), Some(Precision::Int8));
        assert_eq!(of(""), None);
    }

    #[test]
    fn narrow_types_have_their_own_peaks_where_a_vendor_states_them() {
        let v5e = TypedPeaks { base: 197e12, float8: None, int8: Some(2.0) };
        let peak = v5e.peak(Some(Precision::Int8));
        assert_eq!((peak.rate, peak.of), (394e12, Precision::Int8));
        let other = v5e.peak(Some(Precision::Float8));
        assert_eq!((other.rate, other.of), (197e12, Precision::Float16));
        assert_eq!(v5e.peak(None).of, Precision::Float16);
        assert_eq!(
            (nvidia(Some(9), Some(0)), nvidia(Some(7), Some(0))),
            ((Some(2.0), Some(2.0)), (None, None))
        );
        assert_eq!(nvidia(None, None), (None, None));
    }
}
