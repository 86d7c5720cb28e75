//! Floating-point numbers as MLIR writes them.

use crate::types::Float;

impl Float {
    /// The number that these bits stand for; `None` for what is not a finite number, or a format that is not read here.
    fn value(&self, bits: u64) -> Option<f64> {
        if self.exponent == 0 {
            return None;
        }
        if self.width == 64 {
            return Some(f64::from_bits(bits)).filter(|value| value.is_finite());
        }
        let fraction = bits & ((1 << self.fraction) - 1);
        let largest = (1_u64 << self.exponent) - 1;
        let exponent = bits >> self.fraction & largest;
        let is_special = if self.is_ieee {
            exponent == largest
        } else {
            exponent == largest && fraction == (1 << self.fraction) - 1
        };
        if is_special {
            return None;
        }
        let bias = (1_i32 << (self.exponent - 1)) - 1;
        let one = (1_u64 << self.fraction) as f64;
        let value = match exponent {
            0 => fraction as f64 / one * 2_f64.powi(1 - bias),
            _ => (1.0 + fraction as f64 / one) * 2_f64.powi(exponent as i32 - bias),
        };
        Some(if bits >> (self.width - 1) & 1 == 1 { -value } else { value })
    }

    /// Whether a number written in decimals is the one of these bits when it is read again.
    fn reads_as(&self, text: &str, bits: u64) -> bool {
        let Ok(read) = text.parse::<f64>() else { return false };
        let Some(value) = self.value(bits) else { return false };
        if self.width == 64 {
            return read == value;
        }
        // Read again, it is this number where no neighbour is nearer.
        let magnitude = bits & ((1 << (self.width - 1)) - 1);
        let sign = bits & 1 << (self.width - 1);
        let neighbours = [magnitude.checked_sub(1), magnitude.checked_add(1)];
        let distance = (read - value).abs();
        neighbours.into_iter().flatten().filter_map(|m| self.value(sign | m)).all(|other| {
            let its = (read - other).abs();
            distance < its || (distance == its && magnitude.is_multiple_of(2))
        })
    }

    /// The number as MLIR's printer writes it: with six decimals and an exponent where that says it all, else with as many
    /// digits as the format needs, else its bits.
    pub(crate) fn text(&self, bits: u64) -> String {
        let digits = self.width.div_ceil(4) as usize;
        let Some(value) = self.value(bits) else { return format!("0x{bits:0digits$X}") };
        let short = short(value);
        if self.reads_as(&short, bits) {
            return short;
        }
        let long = long(value, 2 + (self.fraction as usize + 1) * 59 / 196);
        if long.contains('.') { long } else { format!("0x{bits:0digits$X}") }
    }
}

/// A number's sign, its significant digits without zeros at the end, and the exponent of the first digit, as LLVM's
/// `APFloat::toString` finds them: it cuts the exact decimal number down before it rounds it.
fn digits(value: f64, count: usize) -> (&'static str, String, i32) {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let bits = value.abs().to_bits();
    let (fraction, exponent) = (bits & ((1 << 52) - 1), (bits >> 52) as i32);
    let (mut significand, mut two) = match exponent {
        0 => (fraction, -1074),
        _ => (fraction | 1 << 52, exponent - 1075),
    };
    let zeros = significand.trailing_zeros() as i32;
    (significand, two) = (significand >> zeros, two + zeros);
    let mut number = Big(vec![significand as u32, (significand >> 32) as u32]);
    // N / 2^e is N * 5^e / 10^e.
    let mut ten = two.min(0);
    number.times(if two < 0 { 5 } else { 2 }, two.unsigned_abs());
    let spare = number.bits().saturating_sub((count as u32 * 196).div_ceil(59)) * 59 / 196;
    ten += spare as i32;
    let text = number.over_ten(spare).text();
    let mut digits = text.trim_end_matches('0').as_bytes().to_vec();
    ten += (text.len() - digits.len()) as i32;
    if digits.len() > count {
        let rounds_up = digits[count] >= b'5';
        ten += (digits.len() - count) as i32;
        digits.truncate(count);
        while let Some(last) = digits.last_mut() {
            match (rounds_up, *last) {
                (true, b'9') | (false, b'0') => {}
                (true, _) => {
                    *last += 1;
                    break;
                }
                (false, _) => break,
            }
            digits.pop();
            ten += 1;
        }
        if digits.is_empty() {
            digits.push(b'1');
        }
    }
    let exponent = ten + digits.len() as i32 - 1;
    (sign, digits.into_iter().map(char::from).collect(), exponent)
}

/// A whole number of any size, its lowest 32 bits first.
struct Big(Vec<u32>);

impl Big {
    fn times(&mut self, factor: u32, count: u32) {
        // As many factors at once as fit: 5^13, 2^31.
        let most = if factor == 5 { 13 } else { 31 };
        let mut left = count;
        while left > 0 {
            let now = left.min(most);
            let (by, mut carry) = (u64::from(factor).pow(now), 0);
            for part in &mut self.0 {
                let product = u64::from(*part) * by + carry;
                *part = product as u32;
                carry = product >> 32;
            }
            if carry > 0 {
                self.0.push(carry as u32);
            }
            left -= now;
        }
    }

    fn bits(&self) -> u32 {
        let used = self.0.iter().rposition(|part| *part != 0).map_or(0, |last| last + 1);
        used.checked_sub(1).map_or(0, |last| last as u32 * 32 + 32 - self.0[last].leading_zeros())
    }

    /// Divides by a number and gives the rest.
    fn divide(&mut self, by: u32) -> u32 {
        let mut rest = 0;
        for part in self.0.iter_mut().rev() {
            let value = rest << 32 | u64::from(*part);
            *part = (value / u64::from(by)) as u32;
            rest = value % u64::from(by);
        }
        rest as u32
    }

    fn over_ten(mut self, times: u32) -> Self {
        let mut left = times;
        while left > 0 {
            let now = left.min(9);
            self.divide(10_u32.pow(now));
            left -= now;
        }
        self
    }

    fn text(mut self) -> String {
        let mut digits = Vec::new();
        while self.bits() > 0 {
            digits.push(char::from(b'0' + self.divide(10) as u8));
        }
        digits.iter().rev().collect()
    }
}

/// Six significant digits, filled up with zeros, and an exponent of at least two.
fn short(value: f64) -> String {
    if value == 0.0 {
        return format!("{}0.000000e+00", if value.is_sign_negative() { "-" } else { "" });
    }
    let (sign, digits, exponent) = digits(value, 6);
    let (first, rest) = digits.split_at(1);
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{first}.{rest:0<6}e{exponent_sign}{:02}", exponent.abs())
}

/// As many significant digits as `count`, without an exponent where at most three zeros would be needed.
fn long(value: f64, count: usize) -> String {
    let (sign, digits, exponent) = digits(value, count);
    let last = exponent - (digits.len() as i32 - 1);
    let is_scientific = match last {
        0.. => last > 3 || digits.len() as i32 + last > count as i32,
        _ => exponent < 0 && -exponent > 3,
    };
    if is_scientific {
        let (first, rest) = digits.split_at(1);
        let rest = if rest.is_empty() { "0" } else { rest };
        let exponent_sign = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{first}.{rest}E{exponent_sign}{}", exponent.abs());
    }
    if last >= 0 {
        return format!("{sign}{digits}{}", "0".repeat(last as usize));
    }
    if exponent >= 0 {
        let (whole, part) = digits.split_at(exponent as usize + 1);
        return format!("{sign}{whole}.{part}");
    }
    format!("{sign}0.{}{digits}", "0".repeat((-exponent - 1) as usize))
}

#[cfg(test)]
mod tests {
    use crate::types::F32;

    #[test]
    fn floats_as_mlir_writes_them() {
        let text = |value: f32| F32.text(u64::from(value.to_bits()));
        for (value, expected) in [
            (0.0, "0.000000e+00"),
            (-0.0, "-0.000000e+00"),
            (1.5, "1.500000e+00"),
            (-1e30, "-1.000000e+30"),
            (1e-5, "9.99999974E-6"),
            (-2.381_976_3e38, "-2.38197633E+38"),
            (0.1, "1.000000e-01"),
            (0.707_106_77, "0.707106769"),
            (f32::NEG_INFINITY, "0xFF800000"),
        ] {
            assert_eq!(text(value), expected, "{value}");
        }
    }
}
