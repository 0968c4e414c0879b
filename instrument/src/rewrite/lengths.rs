//! Lengths of bulk operations, which are events of some kinds.

use wasmparser::Operator;

use super::{Local, Writer};
use crate::module::Source;

/// Reports whether the length of a bulk operation has 64 bits.
fn is_wide(source: &Source<'_>, op: &Operator<'_>) -> bool {
    let memory = |index: u32| source.memories[index as usize].memory64;
    let table = |index: u32| source.tables_are_64[index as usize];
    match *op {
        Operator::MemoryCopy { dst_mem, src_mem } => memory(dst_mem) && memory(src_mem),
        Operator::TableCopy { dst_table, src_table } => table(dst_table) && table(src_table),
        Operator::MemoryFill { mem } | Operator::MemoryGrow { mem } => memory(mem),
        Operator::TableFill { table: index } | Operator::TableGrow { table: index } => table(index),
        _ => false,
    }
}

impl Writer<'_, '_> {
    /// Adds the units of a bulk operation's length, the operand on top, if they are events. Those of an operation that
    /// traps count, too.
    pub(super) fn count_length(&mut self, op: &Operator<'_>) {
        let kinds = self.input.kinds.iter().map(|kind| kind.per_unit(op)).zip(0..);
        let charged: Vec<(u64, u32)> = kinds.filter(|(per_unit, _)| *per_unit != 0).collect();
        if charged.is_empty() {
            return;
        }
        let is_wide = is_wide(self.input.source, op);
        let length = self.locals.index(if is_wide { Local::WideOperand } else { Local::Operand });
        self.sink().local_tee(length);
        for (per_unit, kind) in charged {
            self.add_pushed_events(kind, |sink| {
                // No sensible length is longer: see the engine's.
                match is_wide {
                    true => sink
                        .i64_const(i64::MAX)
                        .local_get(length)
                        .local_get(length)
                        .i64_const(0)
                        .i64_lt_s()
                        .select(),
                    false => sink.local_get(length).i64_extend_i32_u(),
                };
                sink.i64_const(per_unit.cast_signed()).i64_mul();
            });
        }
    }
}
