//! Tells the loom models whether a thread is inside a pin, so that each of them checks P8. Part of no other build.

use std::cell::Cell;

loom::thread_local! {
    static PINS: Cell<usize> = Cell::new(0);
}

/// Whether this thread is inside a pin.
pub fn is_pinned() -> bool {
    PINS.with(|pins| pins.get() != 0)
}

/// Notes a pin until it is dropped.
pub(super) fn enter() -> impl Drop {
    struct Noted;
    impl Drop for Noted {
        fn drop(&mut self) {
            PINS.with(|pins| pins.set(pins.get() - 1));
        }
    }
    PINS.with(|pins| pins.set(pins.get() + 1));
    Noted
}
