//! How a threaded server embeds a ring: each worker owns a `Reader`, one configuration thread owns the `Writer`.
//!
//! A real server on loopback: clients send a key per line and get the node that owns it. The workers share nothing but
//! the `Handle` that made their readers; while they serve, the configuration thread takes a node in and out.
//!
//! `cargo run --example embed`

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ringway::{Delta, Handle, NodeSpec, Reader, Ring};

const WORKERS: usize = 2;
const CLIENTS: usize = 4;
const REQUESTS: usize = 2_000;

/// What the server wants to find with a node: here its address, in a proxy a connection pool.
#[derive(Debug, PartialEq)]
struct Backend {
    address: String,
}

fn node(name: &str, address: &str) -> NodeSpec<Backend> {
    NodeSpec::new(name).with_payload(Backend { address: address.to_owned() })
}

fn serve(client: TcpStream, reader: &mut Reader<Backend>) -> std::io::Result<()> {
    client.set_nodelay(true)?; // answers are short and waited for
    let mut answers = client.try_clone()?;
    for key in BufReader::new(client).split(b'\n') {
        // Each request sees the table that is published now. The node is borrowed until the reader's next call; to keep
        // it longer, for instance across an `.await`, clone it.
        let answer = match reader.owner(&key?) {
            Some(node) => format!("{} {}\n", node.id(), node.payload().address),
            None => "-\n".to_owned(),
        };
        answers.write_all(answer.as_bytes())?;
    }
    Ok(())
}

fn work(listener: &TcpListener, handle: &Handle<Backend>, done: &AtomicBool) -> std::io::Result<()> {
    let mut reader = handle.reader(); // one per thread, for its whole life
    loop {
        let (client, _) = listener.accept()?;
        // Relaxed: the flag is all there is to see; the connection that wakes us up comes after it.
        if done.load(Ordering::Relaxed) {
            return Ok(());
        }
        serve(client, &mut reader)?;
        // Before waiting for the next client, which may take long: an idle reader would keep an old table alive.
        reader.park();
    }
}

fn ask(address: std::net::SocketAddr, client: usize) -> std::io::Result<usize> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut answers = BufReader::new(stream.try_clone()?).lines();
    let mut answered = 0;
    for request in 0..REQUESTS {
        stream.write_all(format!("user:{}\n", client * REQUESTS + request).as_bytes())?;
        let answer = answers.next().expect("the server answers each line")?;
        assert!(answer.starts_with("cache-"), "{answer}");
        answered += 1;
    }
    Ok(answered)
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut writer, handle) =
        Ring::builder().node(node("cache-a", "10.0.0.1:11211")).node(node("cache-b", "10.0.0.2:11211")).build()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let done = AtomicBool::new(false);

    thread::scope(|scope| -> Result<(), Box<dyn Error>> {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(|| work(&listener, &handle, &done))).collect();

        // The configuration thread: in a real server it watches a file or a coordination service.
        let config = scope.spawn(|| {
            for round in 0..20 {
                let delta = if round % 2 == 0 {
                    Delta::new().add(node("cache-c", "10.0.0.3:11211"))
                } else {
                    Delta::new().remove("cache-c")
                };
                // Refused changes leave the table as it is; a server logs them and goes on.
                match writer.commit(delta) {
                    Ok(report) => println!("version {}: {} nodes", report.version, writer.table().node_count()),
                    Err(error) => eprintln!("not applied: {error}"),
                }
                thread::sleep(Duration::from_millis(5));
            }
            writer
        });

        let clients: Vec<_> = (0..CLIENTS).map(|client| scope.spawn(move || ask(address, client))).collect();
        let mut answered = 0;
        for client in clients {
            answered += client.join().expect("clients don't panic")?;
        }
        let mut writer = config.join().expect("the configuration thread doesn't panic");

        done.store(true, Ordering::Relaxed);
        for _ in 0..WORKERS {
            TcpStream::connect(address)?; // wakes a worker that waits for clients
        }
        for worker in workers {
            worker.join().expect("workers don't panic")?;
        }
        writer.reclaim();
        println!("{answered} requests answered; ring at version {}, {:?}", writer.version(), writer.counts());
        Ok(())
    })
}
