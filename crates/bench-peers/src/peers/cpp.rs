//! The rings of `ring.cc`: what a C++ program writes by hand. One foreign call a lookup.

use std::ffi::{c_char, c_void};
use std::{slice, str};

use super::{Peer, added};
use crate::input::{self, Node};

unsafe extern "C" {
    fn peer_name(owner: *const c_void, length: *mut usize) -> *const c_char;
    safe fn peer_live_bytes() -> usize;
    safe fn peer_take_peak_bytes() -> usize;
}

/// Bytes in use by all rings here, which the Rust allocator doesn't see.
pub fn foreign_bytes() -> usize {
    peer_live_bytes()
}

/// Runs `f` and returns by how many bytes they grew at most on the way.
pub fn foreign_peak_of<R>(f: impl FnOnce() -> R) -> (R, usize) {
    peer_take_peak_bytes();
    let before = peer_live_bytes();
    let result = f();
    (result, peer_take_peak_bytes() - before)
}

/// Declares a ring of `ring.cc` and wraps it. `$ring` owns the C++ object alone and isn't `Sync`: no two calls overlap.
macro_rules! ring {
    ($(#[$doc:meta])* $ring:ident: $new:ident $free:ident $add:ident $settle:ident $remove:ident $owner:ident) => {
        unsafe extern "C" {
            safe fn $new(points: u32) -> *mut c_void;
            fn $free(ring: *mut c_void);
            fn $add(ring: *mut c_void, name: *const c_char, length: usize);
            fn $settle(ring: *mut c_void);
            fn $remove(ring: *mut c_void, name: *const c_char, length: usize);
            fn $owner(ring: *const c_void, key: *const c_char, length: usize) -> *const c_void;
        }

        $(#[$doc])*
        pub struct $ring(*mut c_void);

        impl $ring {
            fn insert(&mut self, nodes: &[Node]) {
                for node in nodes {
                    // SAFETY: `self.0` is a ring by `$new`; the name is valid for its length and copied.
                    unsafe { $add(self.0, node.name.as_ptr().cast(), node.name.len()) };
                }
                // SAFETY: `self.0` is a ring by `$new`.
                unsafe { $settle(self.0) };
            }

            #[inline]
            fn at(&self, key: &str) -> *const c_void {
                // SAFETY: `self.0` is a ring by `$new` that is never empty (`build`); the key is valid for its length.
                unsafe { $owner(self.0, key.as_ptr().cast(), key.len()) }
            }
        }

        impl Peer for $ring {
            fn build(nodes: &[Node], points: u32) -> Self {
                assert!(!nodes.is_empty() && points > 0, "a lookup in an empty ring isn't defined");
                let mut ring = Self($new(points));
                ring.insert(nodes);
                ring
            }

            #[inline]
            fn find(&mut self, key: &str) -> usize {
                self.at(key).addr()
            }

            fn owner(&mut self, key: &str) -> u32 {
                let name = self.at(key);
                let mut length = 0;
                // SAFETY: `name` is a string of this ring, which doesn't change while `self` is borrowed.
                let bytes = unsafe { peer_name(name, &mut length) };
                // SAFETY: `peer_name` gave the start and the length of the string's characters.
                let bytes = unsafe { slice::from_raw_parts(bytes.cast(), length) };
                input::index_of_name(str::from_utf8(bytes).expect("names are text"))
            }

            fn add(&mut self, nodes: &[Node], _: u32) {
                self.insert(slice::from_ref(added(nodes)));
            }

            fn remove(&mut self, nodes: &[Node], gone: &Node, _: u32) {
                assert!(!nodes.is_empty(), "a lookup in an empty ring isn't defined");
                // SAFETY: `self.0` is a ring by `$new`; the name is valid for its length.
                unsafe { $remove(self.0, gone.name.as_ptr().cast(), gone.name.len()) };
            }
        }

        impl Drop for $ring {
            fn drop(&mut self) {
                // SAFETY: `self.0` is a ring by `$new`, and nothing uses it after this.
                unsafe { $free(self.0) };
            }
        }
    };
}

ring! {
    /// `std::map<uint32_t, std::string>`.
    MapRing: peer_map_new peer_map_free peer_map_add peer_map_settle peer_map_remove peer_map_owner
}

ring! {
    /// A sorted `std::vector` of points and node numbers, searched by `std::lower_bound`.
    VectorRing: peer_vector_new peer_vector_free peer_vector_add peer_vector_settle peer_vector_remove peer_vector_owner
}
