//! Branches and switches: code on the paths of their edges.

use wasm_encoder::BlockType;
use wasmparser::Operator;

use super::places::Place;
use super::{Local, Writer};
use crate::Error;

impl<'a> Writer<'a, '_> {
    /// Writes a conditional branch, with the code of the edges that have it on paths of their own.
    pub(super) fn branch(&mut self, block: u32, op: &Operator<'a>, bytes: (u32, u32)) -> Result<(), Error> {
        let taken = self.places.edge_at(block, 0, Place::Apart);
        match *op {
            Operator::If { .. } => {
                let not_taken = self.places.edge_at(block, 1, Place::Apart);
                self.copy(op, bytes)?;
                self.frames.last_mut().expect("just entered").else_edge = not_taken;
                Ok(())
            }
            Operator::BrIf { relative_depth } => {
                let Some(edge) = taken else { return self.copy(op, bytes) };
                if self.label_types(relative_depth).is_empty() {
                    let depth = self.depth_of(relative_depth);
                    self.op_start = self.out.len();
                    self.sink().if_(BlockType::Empty);
                    self.edge_code(edge);
                    self.sink().br(depth + 1).end();
                    return Ok(());
                }
                let operand = self.locals.index(Local::Operand);
                self.sink().local_tee(operand).if_(BlockType::Empty);
                self.edge_code(edge);
                self.sink().end().local_get(operand);
                self.copy(op, bytes)
            }
            _ => {
                let Some(edge) = taken else { return self.copy(op, bytes) };
                self.guess(edge);
                self.copy(op, bytes)?;
                self.undo(edge);
                Ok(())
            }
        }
    }

    /// Writes a switch, and before it another one for the edges that have code on paths of their own.
    pub(super) fn switch(
        &mut self,
        block: u32,
        table: &[u32],
        op: &Operator<'a>,
        bytes: (u32, u32),
    ) -> Result<(), Error> {
        let edges = self.input.cfg.blocks[block as usize].edges.len();
        let apart: Vec<(u32, usize)> = (0..edges)
            .filter_map(|edge| Some((edge as u32, self.places.edge_at(block, edge, Place::Apart)?)))
            .collect();
        if apart.is_empty() {
            return self.copy(op, bytes);
        }
        let operand = self.locals.index(Local::Operand);
        let count = apart.len() as u32;
        let way =
            |edge: &u32| apart.iter().position(|(found, _)| found == edge).map_or(count, |way| way as u32);
        let ways: Vec<u32> = table.iter().map(way).collect();
        let (default, cases) = ways.split_last().expect("a switch has a default");
        let mut sink = self.sink();
        sink.local_set(operand);
        for _ in 0..=count {
            sink.block(BlockType::Empty);
        }
        sink.local_get(operand).br_table(cases.iter().copied(), *default);
        for (way, (_, edge)) in (0..).zip(&apart) {
            self.sink().end();
            self.edge_code(*edge);
            self.sink().br(count - 1 - way);
        }
        self.sink().end().local_get(operand);
        self.copy(op, bytes)
    }
}
