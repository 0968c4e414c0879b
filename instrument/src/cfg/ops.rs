//! Classification of instructions for the control-flow graph.

use wasmparser::Operator;

/// Reports whether `op` only marks structure: such an instruction is never executed and not counted.
pub fn is_structure(op: &Operator<'_>) -> bool {
    use Operator::*;
    let catches = matches!(op, TryTable { .. } | Try { .. } | Catch { .. } | CatchAll | Delegate { .. });
    catches || matches!(op, Block { .. } | Loop { .. } | Else | End)
}

/// Reports whether `op` calls a function and returns.
pub fn is_call(op: &Operator<'_>) -> bool {
    matches!(op, Operator::Call { .. } | Operator::CallIndirect { .. } | Operator::CallRef { .. })
}
