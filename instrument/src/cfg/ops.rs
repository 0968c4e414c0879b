//! What instructions are to a graph.

use wasmparser::Operator;

/// Whether `op` only marks structure: it is never executed and not counted.
pub fn is_structure(op: &Operator<'_>) -> bool {
    use Operator::*;
    let catches = matches!(op, TryTable { .. } | Try { .. } | Catch { .. } | CatchAll | Delegate { .. });
    catches || matches!(op, Block { .. } | Loop { .. } | Else | End)
}

/// Whether `op` calls a function and comes back.
pub fn is_call(op: &Operator<'_>) -> bool {
    matches!(op, Operator::Call { .. } | Operator::CallIndirect { .. } | Operator::CallRef { .. })
}
