//! The paths that ran but that no test covered.

use wprof_profiler::Residual;

use crate::page::Page;
use crate::render::residual;
use crate::render::view::View;

/// Adds what [`Profile::residual`](wprof_profiler::Profile::residual) found in the view's profile, with the `top` most
/// frequent paths: where they are, which branches they take, and which of their edges no test took.
pub fn untested(page: &mut Page, view: &View<'_>, residual: &Residual, top: usize) {
    page.with_names(|page| residual::write(page, view, residual, top));
}
