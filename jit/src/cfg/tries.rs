//! The `try`s of a function: where each begins, and which edges lead to its handlers.
//!
//! Input: a [`Cfg`]. Output: each `try` in which something may throw, by its offset; the edges of the graph have the
//! counts of all that was caught. A handler that no call or throw in the body can reach is not among its clauses.

use std::collections::BTreeMap;

use wasmparser::BinaryReaderError;
use wprof_profiler::EdgeId;

use super::{Cfg, ops_executed};
use crate::module::ModuleInfo;

/// A `try` or `try_table`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Try {
    /// The byte offset of the instruction in the module.
    pub at: u32,
    /// The block that contains it.
    pub block: u32,
    /// The number of the block's instructions before it: a frame that has begun more of them has entered it.
    pub ops: u32,
    /// Its handlers, in the order in which calls try them.
    pub clauses: Vec<Clause>,
}

/// A handler of a `try`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// The index of the tag; `None` for all exceptions.
    pub tag: Option<u32>,
    /// The edges to the handler, ascending: one for each call and throw in the body.
    pub edges: Vec<EdgeId>,
}

/// Returns the `try`s of a function that may catch something, by ascending offset.
///
/// # Errors
/// Fails if the bytes differ from the validated ones.
pub fn tries(info: &ModuleInfo, cfg: &Cfg) -> Result<Vec<Try>, BinaryReaderError> {
    let mut found: BTreeMap<u32, Vec<Clause>> = BTreeMap::new();
    let mut next = 0;
    for block in &cfg.blocks {
        let (first, catches) = block.how.catches();
        for (catch, edge) in catches.iter().zip(next + first as u32..) {
            let clauses = found.entry(catch.within).or_default();
            match clauses.iter_mut().find(|clause| clause.tag == catch.tag) {
                Some(clause) => clause.edges.push(EdgeId(edge)),
                None => clauses.push(Clause { tag: catch.tag, edges: vec![EdgeId(edge)] }),
            }
        }
        next += block.edges.len() as u32;
    }
    let begun = |(at, clauses)| {
        // What is in it can be reached through it alone, so it is in a block.
        let block = cfg.block_at(at)?;
        Some(ops_executed(info, cfg, block, at).map(|ops| Try { at, block, ops, clauses }))
    };
    found.into_iter().filter_map(begun).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::cfg::build;
    use crate::module;

    fn parse(body: &str) -> Vec<Try> {
        let text = format!("(module (tag $a (param i32)) (tag $b) (func {body}) (func $f))");
        let bytes: Arc<[u8]> = wat::parse_str(text).expect("valid text").into();
        let info = module::parse(bytes).expect("valid module");
        tries(&info, &build(&info, 0).expect("within limits")).expect("valid bytes")
    }

    /// The tag and the number of edges of each clause.
    type Clauses = Vec<(Option<u32>, usize)>;

    fn shape(tries: &[Try]) -> Vec<(u32, u32, Clauses)> {
        let clauses = |of: &Try| of.clauses.iter().map(|clause| (clause.tag, clause.edges.len())).collect();
        tries.iter().map(|of| (of.block, of.ops, clauses(of))).collect()
    }

    #[test]
    fn each_has_the_edges_of_all_that_may_throw_in_it() {
        let found = parse(
            "(call $f) (drop (i32.const 5))
            (block $h (try_table (catch $b $h) (catch_all $h)
                (call $f)
                (try_table (catch $b $h) (call $f) (throw $b))))",
        );
        // The inner one begins behind the first call; what it does not catch the outer one does.
        let outer = vec![(Some(1), 1), (None, 3)];
        assert_eq!(shape(&found), [(0, 3, outer), (1, 0, vec![(Some(1), 2)])]);
    }

    #[test]
    fn those_that_cannot_catch_are_left_out() {
        assert_eq!(parse("(block $h (try_table (catch_all $h)))"), []);
        assert_eq!(parse("try (call $f) delegate 0"), []);
        let found = parse(
            "(loop $again try
                try (call $f) delegate 0
            catch_all
                (br $again)
            end)",
        );
        assert_eq!(shape(&found), [(1, 0, vec![(None, 1)])]);
    }
}
