//! Waiting for a version: ends when it comes, and only then, or when it can't come in time or at all.

mod common;

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use ringway::layout::Auto;
use ringway::publish::Publish;
use ringway::{Delta, Handle, Native, NodeSpec, Ring, WaitError, Writer};

for_every_publisher!(a_wait_ends_with_the_version, a_wait_ends_when_time_is_up_or_the_writer_is_gone);

type Ends<P> = (Writer<u32, Native, Auto<u32>, P>, Handle<u32, Native, Auto<u32>, P>);

fn ring<P: Publish>() -> Ends<P> {
    let builder = Ring::builder().publisher::<P>();
    builder.node(NodeSpec::new("a").with_payload(0)).build().expect("the node is valid")
}

fn a_wait_ends_with_the_version<P: Publish>() {
    let (mut writer, handle) = ring::<P>();
    assert_eq!(handle.wait_for(0, Duration::ZERO), Ok(1));
    assert_eq!(handle.wait_for(1, Duration::ZERO), Ok(1));
    let (tell, told) = mpsc::channel();
    let waiters: Vec<_> = [2, 2, 3, 4]
        .into_iter()
        .map(|version| {
            let (handle, tell, mut reader) = (handle.clone(), tell.clone(), handle.reader());
            thread::spawn(move || {
                tell.send(()).expect("the test waits");
                let woken = handle.wait_for(version, Duration::MAX).expect("it comes");
                assert!(woken >= version && reader.version() >= woken, "a lookup after a wait sees the version");
            })
        })
        .collect();
    waiters.iter().for_each(|_| told.recv().expect("all start"));
    thread::sleep(Duration::from_millis(20));
    assert!(!waiters.iter().any(thread::JoinHandle::is_finished), "nothing has been published");
    assert!(!writer.commit(Delta::new()).expect("valid").published);
    for version in 2..=4 {
        assert_eq!(writer.commit(Delta::new().set_payload("a", 1)).expect("valid").version, version);
        thread::sleep(Duration::from_millis(10));
    }
    // Without a wake-up they would wait until the end of days, and this test with them.
    waiters.into_iter().for_each(|waiter| waiter.join().expect("no waiter panics"));
}

fn a_wait_ends_when_time_is_up_or_the_writer_is_gone<P: Publish>() {
    let (mut writer, handle) = ring::<P>();
    writer.commit(Delta::new().remove("a")).expect("valid");
    let start = Instant::now();
    let timed_out = Err(WaitError::TimedOut { wanted: 3, current: 2 });
    assert_eq!(handle.wait_for(3, Duration::from_millis(30)), timed_out);
    assert!(start.elapsed() >= Duration::from_millis(30));
    assert_eq!(handle.wait_for(3, Duration::ZERO), timed_out);
    let waiter = thread::spawn({
        let handle = handle.clone();
        move || handle.wait_for(9, Duration::MAX)
    });
    thread::sleep(Duration::from_millis(20));
    drop(writer);
    let gone = |wanted| Err(WaitError::WriterGone { wanted, current: 2 });
    assert_eq!(waiter.join().expect("no panic"), gone(9));
    assert_eq!(handle.wait_for(3, Duration::MAX), gone(3));
    assert_eq!(handle.wait_for(2, Duration::MAX), Ok(2), "what is out stays out");
}
