//! Routing from tasks that hop between threads: the two forms, on tokio.
//!
//! A [`Reader`](ringway::Reader) belongs to one user at a time, not to one thread: it is `Send`, so a task that lives for
//! long, a connection say, makes one and keeps it. Across an `.await` it moves to another thread with the task, and each
//! lookup costs what it costs anywhere. While the task sleeps its reader keeps at most one old table alive; before a long
//! sleep, park it.
//!
//! A task that lives for one request can't pay for a reader of its own (some 700 ns and 2 KiB the first time). It takes
//! a [`Snapshot`](ringway::Snapshot), the table itself as an owned guard: it may be held across `.await`s, all its answers
//! belong together, and it costs a few short locks and counts, as `docs/benchmarks.md` has it. Not for each of many
//! lookups: all threads write to the same words.
//!
//! `cargo run --example tokio`

use std::time::Duration;

use ringway::{Delta, Handle, NodeSpec, Reader, Ring};
use tokio::time::sleep;

/// A connection: one task for many requests, with its own reader.
async fn connection(mut reader: Reader<u32>, number: u32, requests: u32) -> (u64, u64) {
    let (mut first, mut last) = (None, 0);
    for request in 0..requests {
        let key = format!("connection:{number}/request:{request}");
        // A node that is kept across an await is cloned: the reader goes on to newer tables, the clone doesn't.
        let node = reader.owner(key.as_bytes()).expect("the ring has nodes").clone();
        sleep(Duration::from_millis(1)).await; // asks the node at the port that is its payload
        assert!(*node.payload() >= 7000);
        let version = reader.version();
        assert!(version >= last, "a reader never goes back, whatever thread it is on");
        (first, last) = (first.or(Some(version)), version);
    }
    // It will wait for its next request, perhaps for hours.
    reader.park();
    (first.unwrap_or(0), last)
}

/// A request: one short task, with a guard of its own.
async fn request(handle: Handle<u32>, number: u32) -> bool {
    let table = handle.snapshot();
    let key = format!("request:{number}");
    let before = table.owner(key.as_bytes()).expect("the ring has nodes").id().clone();
    sleep(Duration::from_millis(5)).await;
    // Whatever was committed meanwhile, this request's table is the one that it began with.
    assert_eq!(*table.owner(key.as_bytes()).expect("the ring has nodes").id(), before);
    table.version() < handle.version()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let node = |number: u32| NodeSpec::new(format!("node-{number}")).with_payload(7000 + number);
    let (mut writer, handle) = Ring::builder().nodes((0..8).map(node)).build()?;

    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    let connections: Vec<_> = (0..16).map(|number| runtime.spawn(connection(handle.reader(), number, 40))).collect();
    let requests: Vec<_> = (0..200).map(|number| runtime.spawn(request(handle.clone(), number))).collect();

    // The control plane is a thread of its own: a commit computes, and has no place on a runtime's worker.
    let control = std::thread::spawn(move || {
        for number in 8..40 {
            writer.commit(Delta::new().add(node(number)).remove(format!("node-{}", number - 8)))?;
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok::<_, ringway::CommitError<u32>>(writer)
    });

    let (versions, overtaken) = runtime.block_on(async {
        let mut versions = Vec::new();
        for connection in connections {
            versions.push(connection.await.expect("no task panics"));
        }
        let mut overtaken = 0;
        for request in requests {
            overtaken += u32::from(request.await.expect("no task panics"));
        }
        (versions, overtaken)
    });
    let writer = control.join().expect("the control plane doesn't panic")?;
    println!("16 connections saw versions {versions:?}");
    println!("{overtaken} of 200 requests answered from a table that a newer one had replaced meanwhile");
    println!("now version {}, {:?}", writer.version(), writer.counts());
    Ok(())
}
