//! Which ends of a ring may go to another thread, be shared, or be cloned; checked by the compiler.

use ringway::layout::Auto;
use ringway::publish::Locked;
use ringway::{Handle, Native, Node, Reader, Writer};

/// Compiles only while the type is not `Sync`: otherwise both implementations fit and the call is ambiguous.
trait NotSync<A> {
    fn is() {}
}
struct BothFit;
impl<T: ?Sized> NotSync<()> for T {}
impl<T: ?Sized + Sync> NotSync<BothFit> for T {}

/// The same for `Clone`.
trait NotClone<A> {
    fn is() {}
}
impl<T: ?Sized> NotClone<()> for T {}
impl<T: Clone> NotClone<BothFit> for T {}

#[test]
fn ends_may_go_where_they_should() {
    fn shared<T: Send + Sync + Clone>() {}
    fn sent<T: Send>() {}
    shared::<Handle>();
    shared::<Handle<u8, Native, Auto<u32>, Locked>>();
    shared::<ringway::Snapshot>();
    shared::<Node<u8>>();
    sent::<Reader>();
    sent::<Writer>();
    sent::<Reader<u8, Native, Auto<u32>, Locked>>();
    sent::<Writer<u8, Native, Auto<u32>, Locked>>();
    <Reader as NotSync<_>>::is();
    <Writer as NotSync<_>>::is();
    <Reader<u8, Native, Auto<u32>, Locked> as NotSync<_>>::is();
    <Writer<u8, Native, Auto<u32>, Locked> as NotSync<_>>::is();
    <Reader as NotClone<_>>::is();
    <Writer as NotClone<_>>::is();
}
