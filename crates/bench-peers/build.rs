//! Builds the rings in C++, at -O2 whatever the profile says.

fn main() {
    println!("cargo::rerun-if-changed=src/peers/ring.cc");
    cc::Build::new().cpp(true).std("c++17").opt_level(2).warnings(true).file("src/peers/ring.cc").compile("peer_rings");
}
