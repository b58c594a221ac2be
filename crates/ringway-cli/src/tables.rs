//! Tables whose scheme, width of the circle and layout were chosen at run time.

use ringway::layout::{Auto, Bucket, Direct, Eytzinger, Layout, Line, STree, Sorted};
use ringway::scheme::{AnyScheme, Scheme};
use ringway::{DeltaError, Limits, NodeSpec, Ring, Table};

use crate::{Failure, Layouts};

/// What to do with a table of whatever scheme and layout.
pub(crate) trait Visit {
    /// What comes of it.
    type Output;

    /// Does it.
    fn visit<S: Scheme, L: Layout<S::Point>>(self, table: &Table<(), S, L>) -> Self::Output;
}

/// Builds a cluster's table and hands it to `visit`. `file` is the name for messages.
///
/// # Errors
/// If the nodes make no ring.
pub(crate) fn with_table<V: Visit>(
    file: &str,
    scheme: AnyScheme,
    nodes: Vec<NodeSpec>,
    layout: Layouts,
    limits: Limits,
    visit: V,
) -> Result<V::Output, Failure> {
    let name = scheme.name();
    let built = match scheme {
        AnyScheme::U32(scheme) => with_scheme(scheme, nodes, layout, limits, visit),
        AnyScheme::U64(scheme) => with_scheme(scheme, nodes, layout, limits, visit),
        AnyScheme::U128(scheme) => with_scheme(scheme, nodes, layout, limits, visit),
        _ => return Err(Failure::UnknownScheme { file: file.to_owned(), scheme: name }),
    };
    built.map_err(|error| Failure::Ring { file: file.to_owned(), error })
}

fn with_scheme<S: Scheme, V: Visit>(
    scheme: S,
    nodes: Vec<NodeSpec>,
    layout: Layouts,
    limits: Limits,
    visit: V,
) -> Result<V::Output, DeltaError> {
    let builder = Ring::builder().scheme(scheme).nodes(nodes).limits(limits);
    Ok(match layout {
        Layouts::Auto => visit.visit(&builder.layout::<Auto<S::Point>>().build_table()?),
        Layouts::Line => visit.visit(&builder.layout::<Line<S::Point>>().build_table()?),
        Layouts::Sorted => visit.visit(&builder.layout::<Sorted<S::Point>>().build_table()?),
        Layouts::Eytzinger => visit.visit(&builder.layout::<Eytzinger<S::Point>>().build_table()?),
        Layouts::Stree => visit.visit(&builder.layout::<STree<S::Point>>().build_table()?),
        Layouts::Bucket => visit.visit(&builder.layout::<Bucket<S::Point>>().build_table()?),
        Layouts::Direct => visit.visit(&builder.layout::<Direct<S::Point>>().build_table()?),
    })
}
