//! What every process has of its own: threads, and connections that threads drive. A process that was forked has the memory of
//! the one it came from and none of its threads.

use std::sync::{Mutex, PoisonError};

/// Something that is made once in each process that asks for it, and lasts as long as the process.
pub struct PerProcess<T: 'static>(Mutex<Option<(u32, &'static T)>>);

impl<T: 'static> PerProcess<T> {
    /// Nothing, until somebody asks.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// What this process has, made now if it has none.
    ///
    /// # Errors
    /// Those of `make`; who asks next tries again.
    pub fn get<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&'static T, E> {
        self.of(std::process::id(), make)
    }

    fn of<E>(&self, process: u32, make: impl FnOnce() -> Result<T, E>) -> Result<&'static T, E> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((owner, made)) = *held
            && owner == process
        {
            return Ok(made);
        }
        // What the former process had is left as it is: to take it down would wait for threads that are not here.
        let made: &'static T = Box::leak(Box::new(make()?));
        *held = Some((process, made));
        Ok(made)
    }
}

impl<T: 'static> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_one() {
        static HELD: PerProcess<u32> = PerProcess::new();
        assert_eq!(HELD.of(1, || Err("no threads")), Err("no threads"));
        assert_eq!(HELD.of(1, || Ok::<_, ()>(10)), Ok(&10));
        assert_eq!(HELD.of(1, || Ok::<_, ()>(11)), Ok(&10));
        assert_eq!(HELD.of(2, || Ok::<_, ()>(20)), Ok(&20));
        assert_eq!(PerProcess::default().get(|| Ok::<_, ()>("own")), Ok(&"own"));
    }
}
