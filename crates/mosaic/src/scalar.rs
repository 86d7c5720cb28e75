//! Integer operations that a kernel's control hangs on, as they run on the scalar unit.

use crate::attribute::to_width;
use crate::ids::OpId;
use crate::module::Module;
use crate::types::Type;

/// Bits of an integer; `None` for what is no integer of at most 64.
pub(crate) fn width(ty: &Type) -> Option<u32> {
    match ty {
        Type::Integer { width, .. } => Some(*width).filter(|width| *width <= 64),
        Type::Index => Some(64),
        _ => None,
    }
}

/// The value that an operation gives for these operands; `None` where it cannot be told before the kernel runs.
pub(crate) fn evaluate(module: &Module, op: OpId, operands: &[Option<i64>]) -> Option<i64> {
    let result = module.op(op).results().next()?;
    let bits = width(module.type_of(result)?)?;
    let value = raw(module, op, operands)?;
    Some(to_width(value, bits))
}

fn raw(module: &Module, op: OpId, operands: &[Option<i64>]) -> Option<i64> {
    let operand = |index: usize| operands.get(index).copied().flatten();
    let operand_bits = || width(module.type_of(*module.op(op).operands.first()?)?);
    // As an unsigned number of the operand's bits.
    let unsigned = |index: usize| {
        let bits = operand_bits()?;
        let mask = 1_u64.checked_shl(bits).map_or(u64::MAX, |end| end - 1);
        Some(operand(index)? as u64 & mask)
    };
    let signed = |index: usize| {
        // One bit that is set is -1 where it is meant with a sign.
        let value = operand(index)?;
        Some(if operand_bits() == Some(1) { -value } else { value })
    };
    let name = module.name(op);
    Some(match name {
        "arith.constant" => module.integer(module.attribute(op, "value")?)?,
        "arith.addi" => operand(0)?.wrapping_add(operand(1)?),
        "arith.subi" => operand(0)?.wrapping_sub(operand(1)?),
        "arith.muli" => match (operand(0), operand(1)) {
            (Some(0), _) | (_, Some(0)) => 0,
            (a, b) => a?.wrapping_mul(b?),
        },
        "arith.divsi" => operand(0)?.checked_div(operand(1)?)?,
        "arith.remsi" => operand(0)?.checked_rem(operand(1)?)?,
        "arith.divui" => unsigned(0)?.checked_div(unsigned(1)?)? as i64,
        "arith.remui" => unsigned(0)?.checked_rem(unsigned(1)?)? as i64,
        "arith.floordivsi" => {
            let (a, b) = (operand(0)?, operand(1)?);
            let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
            quotient - i64::from(rest != 0 && (rest < 0) != (b < 0))
        }
        "arith.ceildivsi" => {
            let (a, b) = (operand(0)?, operand(1)?);
            let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
            quotient + i64::from(rest != 0 && (rest < 0) == (b < 0))
        }
        "arith.ceildivui" => {
            let (a, b) = (unsigned(0)?, unsigned(1)?);
            a.checked_div(b)?.checked_add(u64::from(a.checked_rem(b)? != 0))? as i64
        }
        "arith.andi" => match (operand(0), operand(1)) {
            (Some(0), _) | (_, Some(0)) => 0,
            (a, b) => a? & b?,
        },
        "arith.ori" => match (operand(0), operand(1)) {
            (Some(1), _) | (_, Some(1)) if operand_bits() == Some(1) => 1,
            (a, b) => a? | b?,
        },
        "arith.xori" => operand(0)? ^ operand(1)?,
        "arith.shli" => operand(0)?.checked_shl(shift(operand(1)?, operand_bits()?)?)?,
        "arith.shrsi" => operand(0)?.checked_shr(shift(operand(1)?, operand_bits()?)?)?,
        "arith.shrui" => unsigned(0)?.checked_shr(shift(operand(1)?, operand_bits()?)?)? as i64,
        "arith.maxsi" => signed(0)?.max(signed(1)?),
        "arith.minsi" => signed(0)?.min(signed(1)?),
        "arith.maxui" => unsigned(0)?.max(unsigned(1)?) as i64,
        "arith.minui" => unsigned(0)?.min(unsigned(1)?) as i64,
        "arith.select" => match operand(0) {
            Some(0) => operand(2)?,
            Some(_) => operand(1)?,
            None => operand(1).filter(|value| operand(2) == Some(*value))?,
        },
        "arith.cmpi" => {
            let predicate = module.integer(module.attribute(op, "predicate")?)?;
            i64::from(match predicate {
                0 => operand(0)? == operand(1)?,
                1 => operand(0)? != operand(1)?,
                2 => signed(0)? < signed(1)?,
                3 => signed(0)? <= signed(1)?,
                4 => signed(0)? > signed(1)?,
                5 => signed(0)? >= signed(1)?,
                6 => unsigned(0)? < unsigned(1)?,
                7 => unsigned(0)? <= unsigned(1)?,
                8 => unsigned(0)? > unsigned(1)?,
                9 => unsigned(0)? >= unsigned(1)?,
                _ => return None,
            })
        }
        "arith.extsi" | "arith.index_cast" => signed(0)?,
        "arith.extui" | "arith.index_castui" => unsigned(0)? as i64,
        "arith.trunci" | "tpu.assume_multiple" => operand(0)?,
        _ => return None,
    })
}

fn shift(by: i64, bits: u32) -> Option<u32> {
    u32::try_from(by).ok().filter(|by| *by < bits)
}
