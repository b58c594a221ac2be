//! A reader that is stopped inside a refresh, without a debugger.

use std::any::Any;
use std::cell::RefCell;

use ringway::publish::{Epoch, Publish, Value, epoch};

/// `Epoch`, with a way to the publisher's hook, which the ring hides.
#[derive(Debug)]
pub enum Stallable {}

/// Stops a reader until the result is dropped.
pub type Hook = Box<dyn Fn() -> Box<dyn Any>>;

thread_local!(static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) });

/// The hook of the ring that this thread built last with [`Stallable`]. It keeps the ring's last table alive.
pub fn take_stall() -> Hook {
    HOOK.take().expect("a ring was built with `Stallable`")
}

impl Publish for Stallable {
    type Writer<V: Value> = epoch::Writer<V>;
    type Source<V: Value> = epoch::Source<V>;
    type Reader<V: Value> = epoch::Reader<V>;

    const NAME: &'static str = "stallable";

    fn start<V: Value>(first: V, retired_limit: usize) -> (Self::Writer<V>, Self::Source<V>) {
        let (writer, source) = Epoch::start(first, retired_limit);
        let shared = source.clone();
        HOOK.set(Some(Box::new(move || Box::new(shared.stall()))));
        (writer, source)
    }
}
