//! Floating-point numbers in as few digits as bring them back.

use std::fmt::Write;

use crate::element::ElementType;

/// A number as C's `%.*g` writes it.
pub(super) fn general(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return if value.is_sign_negative() { "-nan" } else { "nan" }.to_owned();
    }
    if value.is_infinite() {
        return if value < 0.0 { "-inf" } else { "inf" }.to_owned();
    }
    let digits = digits.max(1);
    let scientific = format!("{value:.*e}", digits - 1);
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if exponent < -4 || exponent >= i32::try_from(digits).unwrap_or(i32::MAX) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(mantissa), exponent.unsigned_abs());
    }
    let decimals = i32::try_from(digits).unwrap_or(i32::MAX) - 1 - exponent;
    trimmed(&format!("{value:.*}", usize::try_from(decimals).unwrap_or(0)))
}

/// A double: 15 digits where they suffice, else 17.
#[must_use]
pub fn double(value: f64) -> String {
    let short = general(value, 15);
    let mut text = if short.parse() == Ok(value) { short } else { general(value, 17) };
    payload(&mut text, value.is_nan(), value.to_bits(), 52);
    text
}

/// A float: 6 digits where they suffice, else 9.
#[must_use]
pub fn float(value: f32) -> String {
    let short = general(f64::from(value), 6);
    let mut text = if short.parse() == Ok(value) { short } else { general(f64::from(value), 9) };
    payload(&mut text, value.is_nan(), u64::from(value.to_bits()), 23);
    text
}

/// What a NaN carries beside being quiet.
fn payload(text: &mut String, is_nan: bool, bits: u64, mantissa_bits: u32) {
    let payload = bits & ((1 << mantissa_bits) - 1);
    if is_nan && payload != 1 << (mantissa_bits - 1) {
        // Writing to a string cannot fail.
        let _ = write!(text, "(0x{payload:x})");
    }
}

/// A floating-point format narrower than `float`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Narrow {
    /// Bits of the exponent.
    pub(crate) exponent_bits: u32,
    /// Bits of the mantissa, without the leading one.
    pub(crate) mantissa_bits: u32,
    /// What is taken from the exponent.
    pub(crate) bias: i32,
    /// Which bit patterns are no numbers.
    pub(crate) special: Special,
}

/// Which bit patterns of a narrow format are no numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    /// Infinities and NaNs as in IEEE 754: all exponent bits set.
    Ieee,
    /// All bits but the sign set is NaN; no infinities.
    AllOnesNan,
    /// Only what would be minus zero is NaN.
    MinusZeroNan,
    /// None at all.
    None,
}

impl Narrow {
    /// IEEE half precision.
    pub(crate) const F16: Self = Self::ieee(5, 10);
    /// bfloat16.
    pub(crate) const BF16: Self = Self::ieee(8, 7);

    pub(crate) const fn ieee(exponent_bits: u32, mantissa_bits: u32) -> Self {
        let bias = (1 << (exponent_bits - 1)) - 1;
        Self { exponent_bits, mantissa_bits, bias, special: Special::Ieee }
    }

    pub(crate) const fn with(exponent_bits: u32, mantissa_bits: u32, bias: i32, special: Special) -> Self {
        Self { exponent_bits, mantissa_bits, bias, special }
    }

    /// How a narrow type is made; `None` for one that has no sign, exponent and mantissa.
    pub(crate) fn from_element_type(element_type: ElementType) -> Option<Self> {
        use ElementType as E;
        Some(match element_type {
            E::F16 => Self::F16,
            E::Bf16 => Self::BF16,
            E::F8E5M2 => Self::ieee(5, 2),
            E::F8E4M3 => Self::ieee(4, 3),
            E::F8E3M4 => Self::ieee(3, 4),
            E::F8E4M3Fn => Self::with(4, 3, 7, Special::AllOnesNan),
            E::F8E4M3B11Fnuz => Self::with(4, 3, 11, Special::MinusZeroNan),
            E::F8E4M3Fnuz => Self::with(4, 3, 8, Special::MinusZeroNan),
            E::F8E5M2Fnuz => Self::with(5, 2, 16, Special::MinusZeroNan),
            E::F4E2M1Fn => Self::with(2, 1, 1, Special::None),
            E::F6E3M2Fn => Self::with(3, 2, 3, Special::None),
            E::F6E2M3Fn => Self::with(2, 3, 1, Special::None),
            _ => return None,
        })
    }

    fn value(self, bits: u32) -> f64 {
        let mantissa_mask = (1u32 << self.mantissa_bits) - 1;
        let exponent_mask = (1u32 << self.exponent_bits) - 1;
        let (mantissa, exponent) = (bits & mantissa_mask, bits >> self.mantissa_bits & exponent_mask);
        let negative = bits >> (self.mantissa_bits + self.exponent_bits) & 1 == 1;
        let signed = |value: f64| if negative { -value } else { value };
        let all_ones = exponent == exponent_mask;
        match self.special {
            Special::Ieee if all_ones && mantissa == 0 => return signed(f64::INFINITY),
            Special::Ieee if all_ones => return signed(f64::NAN),
            Special::AllOnesNan if all_ones && mantissa == mantissa_mask => return signed(f64::NAN),
            // The one NaN of these formats has its sign bit set.
            Special::MinusZeroNan if negative && mantissa == 0 && exponent == 0 => return -f64::NAN,
            _ => {}
        }
        let scale = 2f64.powi(i32::try_from(exponent.max(1)).unwrap_or(1) - self.bias);
        let unit = 2f64.powi(-i32::try_from(self.mantissa_bits).unwrap_or(0));
        let leading = if exponent == 0 { 0.0 } else { 1.0 };
        signed((leading + f64::from(mantissa) * unit) * scale)
    }

    /// The bits of a number, rounded to the nearest; `None` where it is too large, or is a NaN and the format has none.
    pub(crate) fn bits(self, value: f64, payload: Option<u64>) -> Option<u32> {
        let mantissa_mask = (1u32 << self.mantissa_bits) - 1;
        let exponent_mask = (1u32 << self.exponent_bits) - 1;
        let sign = u32::from(value.is_sign_negative()) << (self.mantissa_bits + self.exponent_bits);
        let infinity = exponent_mask << self.mantissa_bits;
        if value.is_nan() {
            let quiet =
                payload.map_or(1 << (self.mantissa_bits - 1), |payload| payload as u32 & mantissa_mask);
            return match self.special {
                Special::Ieee => Some(sign | infinity | quiet),
                Special::AllOnesNan => Some(sign | infinity | mantissa_mask),
                Special::MinusZeroNan => Some(1 << (self.mantissa_bits + self.exponent_bits)),
                Special::None => None,
            };
        }
        if value.is_infinite() {
            return (self.special == Special::Ieee).then_some(sign | infinity);
        }
        if value == 0.0 {
            return Some(if self.special == Special::MinusZeroNan { 0 } else { sign });
        }
        // The exponent of the number, not below that of the smallest normal one.
        let smallest = 1 - self.bias;
        let exponent = ((value.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(smallest);
        let unit = 2f64.powi(exponent - self.mantissa_bits as i32);
        let mantissa = (value.abs() / unit).round_ties_even() as u32;
        // A mantissa that rounds up to the next power of two carries into the exponent.
        let bits = ((exponent - smallest) as u32).checked_shl(self.mantissa_bits)?.checked_add(mantissa)?;
        let largest = match self.special {
            Special::Ieee => infinity - 1,
            Special::AllOnesNan => (infinity | mantissa_mask) - 1,
            Special::MinusZeroNan | Special::None => infinity | mantissa_mask,
        };
        match bits {
            0 if self.special == Special::MinusZeroNan => Some(0),
            bits if bits <= largest => Some(sign | bits),
            // A number just above the largest stands for infinity where there is one.
            _ if self.special == Special::Ieee => Some(sign | infinity),
            _ => None,
        }
    }

    /// The number with these bits, in as many digits as always bring it back.
    pub(crate) fn text(self, bits: u32) -> String {
        // Digits that bring back any number of p bits: 1 + p log10(2), rounded up.
        let digits = 1 + (f64::from(self.mantissa_bits + 1) * std::f64::consts::LOG10_2).ceil() as usize;
        let value = self.value(bits);
        let mut text = general(value, digits);
        if self.special == Special::Ieee {
            payload(&mut text, value.is_nan(), u64::from(bits), self.mantissa_bits);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_as_few_digits_as_bring_the_number_back() {
        assert_eq!([float(1.0), float(0.1), float(1e10), float(-0.0)], ["1", "0.1", "1e+10", "-0"]);
        assert_eq!(float(0.333_333_34), "0.333333343");
        assert_eq!([double(1e-5), double(123_456.789)], ["1e-05", "123456.789"]);
        assert_eq!(general(1e15, 15), "1e+15");
        assert_eq!(general(123_456.0, 6), "123456");
        assert_eq!([float(f32::NEG_INFINITY), float(f32::NAN)], ["-inf", "nan"]);
        assert_eq!(float(f32::from_bits(0x7fc0_0001)), "nan(0x400001)");
    }

    #[test]
    fn all_bits_come_back() {
        use ElementType as E;
        let types = [
            E::F16,
            E::Bf16,
            E::F8E5M2,
            E::F8E4M3,
            E::F8E3M4,
            E::F8E4M3Fn,
            E::F8E4M3B11Fnuz,
            E::F8E4M3Fnuz,
            E::F8E5M2Fnuz,
            E::F4E2M1Fn,
            E::F6E3M2Fn,
            E::F6E2M3Fn,
        ];
        for element_type in types {
            let format = Narrow::from_element_type(element_type).unwrap();
            let width = element_type.bits().unwrap();
            for bits in 0..1u32 << width {
                let text = format.text(bits);
                let (number, payload) =
                    text.split_once("(0x").map_or((text.as_str(), None), |(number, payload)| {
                        (number, u64::from_str_radix(payload.trim_end_matches(')'), 16).ok())
                    });
                let back = format.bits(number.parse().unwrap(), payload);
                assert_eq!(back, Some(bits), "{format:?}: {text}");
            }
        }
        assert_eq!(Narrow::with(4, 3, 7, Special::AllOnesNan).bits(1e9, None), None);
        assert_eq!(Narrow::F16.bits(1e9, None), Some(0x7c00));
    }

    #[test]
    fn reads_narrow_formats() {
        assert_eq!(Narrow::BF16.text(0xbf7f), "-0.9961");
        assert_eq!(Narrow::F16.text(0x3c00), "1");
        assert_eq!(Narrow::F16.text(0x0001), "5.9605e-08");
        assert_eq!(Narrow::with(4, 3, 7, Special::AllOnesNan).text(0x7e), "448");
        assert_eq!(Narrow::with(2, 1, 1, Special::None).text(0b111), "6");
    }
}
