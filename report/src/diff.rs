//! Changes from one profile to another, and the agreement of two profiles.

use wprof_profiler::{Comparison, Profile};

use crate::error::{Result, ensure};
use crate::page::Page;
use crate::render::comparison;
use crate::render::view::View;

pub use crate::threshold::Threshold;

/// Adds what changed between the profiles of a comparison, `top` rows in each table. [`Comparison::of_amounts`] compares
/// what [`share_names`](wprof_profiler::share_names) has prepared. Paths are named by their source lines if the view of the
/// earlier profile has a module with debug information, and else by their blocks.
pub fn changes(
    page: &mut Page,
    comparison: &Comparison<'_>,
    (before, after): (&View<'_>, &Profile),
    top: usize,
) {
    page.with_names(|page| comparison::write_changes(page, comparison, (before, after), top));
}

/// Adds how far a profile agrees with a complete or trusted one: for each kind of figures the sum, over all items, of the
/// smaller of their two shares.
///
/// # Errors
/// Returns an error if the profiles have no figures of the same kind.
pub fn overlap(page: &mut Page, complete: &Profile, other: &Profile) -> Result<()> {
    let comparison = Comparison::new(complete, other);
    ensure!(
        comparison::can_overlap(&comparison),
        "the profiles have no figure in common: collect the same for both"
    );
    comparison::write_overlap(page, &comparison);
    Ok(())
}
