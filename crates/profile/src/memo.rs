//! What was found out about a run, kept beside it for the next question.

use std::any::Any;
use std::sync::OnceLock;

use super::Profile;

/// Room for a value of each type, which the module understands that the type belongs to. Empty, and stays so, unless the run
/// is asked more than once: a process that answers one question is not to pay for a second.
#[derive(Debug, Default)]
pub(super) struct Memo {
    on: bool,
    found: OnceLock<Box<Cell>>,
    once: OnceLock<Box<dyn Any + Send + Sync>>,
}

/// A value, and the one that was asked for next.
#[derive(Debug)]
struct Cell {
    value: Box<dyn Any + Send + Sync>,
    next: OnceLock<Box<Cell>>,
}

impl Profile {
    /// Says that more than one question will be asked: what they share is kept from the first on.
    pub fn expect_questions(&mut self) {
        self.memo.on = true;
    }

    /// What is kept of this type, made by `new` at the first call; `None` where nothing is to be kept. `new` must not ask for
    /// something kept itself: it makes what is still empty.
    pub fn memo<T: Any + Send + Sync>(&self, new: impl FnOnce(&Self) -> T) -> Option<&T> {
        if !self.memo.on {
            return None;
        }
        let mut new = Some(new);
        let mut at = &self.memo.found;
        loop {
            if at.get().is_none()
                && let Some(new) = new.take()
            {
                // Another thread may have been first with a value of another type: then this one goes behind it.
                let mut made = Box::new(Cell { value: Box::new(new(self)), next: OnceLock::new() });
                while let Err(back) = at.set(made) {
                    made = back;
                    let cell = at.get()?;
                    if let Some(found) = cell.value.downcast_ref() {
                        return Some(found);
                    }
                    at = &cell.next;
                }
            }
            let cell = at.get()?;
            if let Some(found) = cell.value.downcast_ref() {
                return Some(found);
            }
            at = &cell.next;
        }
    }

    /// What one question needs more than once, made by `new` at the first call and kept in any case; `None` where something
    /// else is.
    pub fn once<T: Any + Send + Sync>(&self, new: impl FnOnce(&Self) -> T) -> Option<&T> {
        filled(&self.memo.once, || Box::new(new(self))).downcast_ref()
    }
}

/// What a cell holds, made where it is empty. Not inside of the cell: what makes it may share its work with other threads, and a
/// thread that fills a cell must not come to wait for the same.
pub fn filled<T>(cell: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    match cell.get() {
        Some(found) => found,
        None => {
            let made = make();
            cell.get_or_init(|| made)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_of_a_type_is_kept_where_more_questions_come() {
        let mut profile = Profile::default();
        assert_eq!(profile.memo(|_| 1_u32), None);
        profile.expect_questions();
        assert_eq!((profile.memo(|_| 2_u32), profile.memo(|_| 3_u32)), (Some(&2), Some(&2)));
        assert_eq!((profile.memo(|_| 4_i64), profile.memo(|_| 5_i64)), (Some(&4), Some(&4)));
        assert_eq!(profile.memo(|_| 6_u32), Some(&2));
    }
}
