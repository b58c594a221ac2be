//! What a lookup costs with the drop-in schemes: the hash, the search, and both, beside the native scheme's.
//!
//! A scheme may cost its hash and no more: the search of a 32-bit ring is the native one's, and a wide one reads what lies
//! behind the heads of its points only where heads tie. All rings have 100 nodes of 160 points; keys are "user:" and six
//! digits. Each query depends on the answer before. All is interleaved round by round. Answers are checked first, against a
//! search through all points.
//!
//! `cargo bench --bench compat`

mod common;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use common::{Pace, QUERIES, keys, pin};
use ringway::scheme::{
    Conhash, HashRing, Libketama, Libmemcached, MatchRule, MemcacheHash, Native, NginxChash, Scheme, TwemproxyKetama,
    UhashringDefault, UhashringKetama,
};
use ringway::{Node, NodeSpec, Point, Ring, Table};

/// A scheme's ways to be asked all queries once, and their times in ns a query.
struct Subject {
    name: String,
    /// The hash, the search, both.
    passes: [Box<dyn Fn() -> usize>; 3],
    times: [Vec<f64>; 3],
}

/// Where the node lies: something of the answer, had without reading the node.
fn place(node: Option<&Node>) -> usize {
    node.map_or(0, |node| std::ptr::from_ref(node).addr() / size_of::<Node>())
}

/// Asks one of two neighbours, as the last answer has it.
#[inline(always)]
fn in_turn(ask: impl Fn(usize) -> usize) -> usize {
    (0..QUERIES).fold(0, |last, query| ask(query ^ (last & 1)))
}

fn check<S: Scheme>(table: &Table<(), S>, keys: &[String]) {
    let points: Vec<(S::Point, &str)> = table.points().map(|(point, node)| (point, node.id().as_str())).collect();
    let after = table.scheme().match_rule() == MatchRule::After;
    for key in keys.iter().step_by(16) {
        let x = table.scheme().key_point(key.as_bytes());
        let found = points.iter().find(|&&(point, _)| if after { point > x } else { point >= x });
        let expected = found.or(points.first()).expect("there are points").1;
        assert_eq!(table.owner(key.as_bytes()).map(|node| node.id().as_str()), Some(expected), "{key}");
    }
}

fn subject<S: Scheme>(name: &str, scheme: S) -> Subject {
    let nodes = (0..100).map(|n| NodeSpec::new(format!("10.0.{n}.1:11212:1")).with_active_points(160));
    let table = Arc::new(Ring::builder().scheme(scheme).nodes(nodes).build_table().expect("a plain ring"));
    let keys: Arc<[String]> = keys().into();
    check(&table, &keys);
    let points: Vec<S::Point> = keys.iter().map(|key| table.scheme().key_point(key.as_bytes())).collect();
    let (hashed, searched) = (Arc::clone(&table), Arc::clone(&table));
    let hash_keys = Arc::clone(&keys);
    let hash = move || in_turn(|n| hashed.scheme().key_point(black_box(hash_keys[n].as_bytes())).head() as usize);
    let search = move || in_turn(|n| place(searched.owner_at(black_box(points[n]))));
    let both = move || in_turn(|n| place(table.owner(black_box(keys[n].as_bytes()))));
    let passes: [Box<dyn Fn() -> usize>; 3] = [Box::new(hash), Box::new(search), Box::new(both)];
    Subject { name: name.to_owned(), passes, times: Default::default() }
}

fn main() {
    pin();
    let rounds = Pace::of_arguments().rounds(301);
    let mut subjects = vec![
        subject("native", Native::new()),
        subject("nginx-chash", NginxChash::new()),
        subject("libketama", Libketama::new()),
        subject("libmemcached", Libmemcached::new()),
        subject("uhashring-ketama", UhashringKetama::new()),
        subject("hash_ring", HashRing::new()),
        subject("uhashring-default, u128", UhashringDefault::new()),
        subject("conhash, u128", Conhash::new()),
    ];
    for hash in MemcacheHash::ALL {
        subjects.push(subject(&format!("twemproxy, {hash}"), TwemproxyKetama::new().with_hash(hash)));
    }
    for _ in 0..rounds {
        for Subject { passes, times, .. } in &mut subjects {
            for (pass, times) in passes.iter().zip(times) {
                let start = Instant::now();
                black_box(pass());
                times.push(start.elapsed().as_nanos() as f64 / QUERIES as f64);
            }
        }
    }
    println!(
        "compat: ns per query, dependent, median of {rounds} interleaved rounds of {QUERIES}; ratio of the search to native's"
    );
    println!("{:<26} {:>8} {:>8} {:>8} {:>8}", "scheme", "hash", "search", "ratio", "lookup");
    let mut native = None;
    for Subject { name, times, .. } in &mut subjects {
        let [hash, search, both] = times.each_mut().map(|times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        let ratio = search / *native.get_or_insert(search);
        println!("{name:<26} {hash:>8.1} {search:>8.1} {ratio:>8.2} {both:>8.1}");
    }
}
