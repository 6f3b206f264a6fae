//! Parts that several threads make, passed on in their order, whichever is done first.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Passes on numbered parts, from 0 without gaps.
pub(crate) struct InOrder<Part, Join> {
    /// What is there and not passed on yet.
    parts: Mutex<BTreeMap<usize, Part>>,
    joiner: Mutex<Joiner<Join>>,
}

struct Joiner<Join> {
    join: Join,
    /// Which part is passed on next.
    next: usize,
}

impl<Part, Join: FnMut(Part)> InOrder<Part, Join> {
    /// Passes parts on to `join`, one at a time, on the thread of whichever is added.
    pub(crate) fn new(join: Join) -> Self {
        Self { parts: Mutex::default(), joiner: Mutex::new(Joiner { join, next: 0 }) }
    }

    /// Adds a part, and passes on what is next.
    pub(crate) fn add(&self, number: usize, part: Part) {
        locked(&self.parts).insert(number, part);
        self.join_ready();
    }

    /// Passes on what is left when all threads are done.
    pub(crate) fn finish(self) {
        self.join_ready();
    }

    /// Passes on the parts that are next. Where another thread is at it, that one goes on, and this
    /// one need not wait.
    fn join_ready(&self) {
        let Ok(mut joiner) = self.joiner.try_lock() else { return };
        loop {
            let part = locked(&self.parts).remove(&joiner.next);
            let Some(part) = part else { break };
            (joiner.join)(part);
            joiner.next += 1;
        }
    }
}

/// Waits for a lock. A panic of another thread is passed on by the scope; what it held is not looked at
/// again.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_passed_on_in_order_whichever_comes_first() {
        let mut passed = Vec::new();
        let in_order = InOrder::new(|part| passed.push(part));
        in_order.add(1, "b");
        in_order.add(0, "a");
        in_order.add(3, "d");
        in_order.add(2, "c");
        in_order.finish();
        assert_eq!(passed, ["a", "b", "c", "d"]);
    }

    #[test]
    fn threads_that_add_at_once_lose_nothing() {
        let mut passed = Vec::new();
        let in_order = InOrder::new(|part: usize| passed.push(part));
        std::thread::scope(|scope| {
            for first in 0..4 {
                let in_order = &in_order;
                let own = (first..1_000).step_by(4);
                scope.spawn(move || own.for_each(|part| in_order.add(part, part)));
            }
        });
        in_order.finish();
        assert!(passed.into_iter().eq(0..1_000));
    }
}
