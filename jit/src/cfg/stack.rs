//! Operand stack types, shared: a stack is its top and the stack below it, so each push costs one cell however deep.

use wasmparser::ValType;

/// A stack of types in a [`TypeStacks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackId(u32);

#[derive(Clone, Copy, Debug)]
struct Cell {
    below: StackId,
    top: ValType,
    height: u32,
}

/// An arena of stacks of value types.
#[derive(Clone, Debug, Default)]
pub struct TypeStacks {
    cells: Vec<Cell>,
}

impl TypeStacks {
    /// The empty stack.
    pub const EMPTY: StackId = StackId(u32::MAX);

    /// Returns the number of cells.
    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Returns `below` with `top` on it.
    pub fn push(&mut self, below: StackId, top: ValType) -> StackId {
        let height = self.height(below) + 1;
        self.cells.push(Cell { below, top, height });
        StackId(self.cells.len() as u32 - 1)
    }

    /// Returns the topmost type and the stack below it.
    pub fn pop(&self, stack: StackId) -> Option<(ValType, StackId)> {
        let cell = self.cells.get(stack.0 as usize)?;
        Some((cell.top, cell.below))
    }

    /// Returns `stack` without its `count` topmost types.
    pub fn drop_top(&self, mut stack: StackId, count: u32) -> StackId {
        for _ in 0..count {
            stack = self.pop(stack).map_or(Self::EMPTY, |(_, below)| below);
        }
        stack
    }

    /// Returns the number of types in `stack`.
    pub fn height(&self, stack: StackId) -> u32 {
        self.cells.get(stack.0 as usize).map_or(0, |c| c.height)
    }

    /// Returns the types of `stack`, bottom first.
    pub fn types(&self, mut stack: StackId) -> Vec<ValType> {
        let mut types = Vec::new();
        while let Some((top, below)) = self.pop(stack) {
            types.push(top);
            stack = below;
        }
        types.reverse();
        types
    }

    /// Keeps only the cells that `roots` need, and renames the roots. Each cell lies behind the one below it, so one
    /// backward pass marks and one forward pass moves.
    pub(super) fn compact<'a>(&mut self, roots: impl Iterator<Item = &'a mut StackId>) {
        let roots: Vec<&mut StackId> = roots.collect();
        let mut new = vec![u32::MAX; self.cells.len()];
        for root in roots.iter().filter(|r| ***r != Self::EMPTY) {
            new[root.0 as usize] = 0;
        }
        for i in (0..self.cells.len()).rev() {
            let below = self.cells[i].below;
            if new[i] == 0 && below != Self::EMPTY {
                new[below.0 as usize] = 0;
            }
        }
        let mut kept = Vec::new();
        for (cell, new_id) in self.cells.iter().zip(0..) {
            let new_id: usize = new_id;
            if new[new_id] == 0 {
                new[new_id] = kept.len() as u32;
                let below =
                    if cell.below == Self::EMPTY { cell.below } else { StackId(new[cell.below.0 as usize]) };
                kept.push(Cell { below, ..*cell });
            }
        }
        for root in roots.into_iter().filter(|r| **r != Self::EMPTY) {
            *root = StackId(new[root.0 as usize]);
        }
        self.cells = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compaction_keeps_what_roots_need_and_nothing_else() {
        let mut stacks = TypeStacks::default();
        let a = stacks.push(TypeStacks::EMPTY, ValType::I32);
        let _dead = stacks.push(a, ValType::F64);
        let mut b = stacks.push(a, ValType::I64);
        let mut empty = TypeStacks::EMPTY;
        stacks.compact([&mut b, &mut empty].into_iter());
        assert_eq!(stacks.types(b), [ValType::I32, ValType::I64]);
        assert_eq!(stacks.types(empty), []);
        assert_eq!(stacks.cells.len(), 2);
    }
}
