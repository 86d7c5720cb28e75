//! Numbers for tests: the same ones every time.

/// Numbers from 0 up to, and without, what each call gives (xorshift, Marsaglia 2003).
pub(crate) fn numbers() -> impl FnMut(u64) -> i64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    move |most| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % most) as i64
    }
}
