//! Statements: code that leaves the operand stack as it finds it.

use wasm_encoder::{BlockType, Instruction as Op, ValType};

use super::body::Body;
use super::{SIGNATURES, SWAP, UNARY};
use ValType::{I32, I64};

impl Body<'_> {
    /// Emits a few statements.
    pub fn statements(&mut self, depth: usize) {
        for _ in 0..self.rng.below(3) {
            if self.budget > 0 {
                self.statement(depth);
            }
        }
    }

    /// Emits a statement that nests at most `depth` deep.
    pub fn statement(&mut self, depth: usize) {
        let Some(inner) = depth.checked_sub(1) else { return self.assign(1) };
        match self.rng.below(22) {
            0..=2 => self.assign(3),
            3..=4 => self.store(depth),
            5..=6 => self.when(inner),
            7..=8 => self.when_else(inner),
            9 => self.breakable(inner),
            10..=11 => self.switch(inner),
            12..=13 => self.counted_loop(inner),
            14 => self.wild_loop(inner),
            15 => self.call_any(inner),
            16 => self.recurse(inner),
            17 => self.guarded_leave(inner),
            18 => self.swap(inner),
            19 => self.if_with_operand(inner),
            20 => self.table(inner),
            _ => self.odd(inner),
        }
    }

    fn assign(&mut self, depth: usize) {
        let ty = self.rng.pick(&[I32, I64]);
        self.expression(ty, depth);
        self.consume(&[ty]);
    }

    fn store(&mut self, depth: usize) {
        let to = self.address(depth - 1);
        self.expression(I32, depth - 1);
        let op = if self.rng.chance(50) { Op::I32Store(to) } else { Op::I32Store16(to) };
        self.push(op);
    }

    fn when(&mut self, depth: usize) {
        self.expression(I32, 2);
        self.nest(Op::If(BlockType::Empty), &[], |body| body.statements(depth));
    }

    fn when_else(&mut self, depth: usize) {
        self.expression(I32, 2);
        self.nest(Op::If(BlockType::Empty), &[], |body| {
            body.statements(depth);
            body.push(Op::Else);
            body.statements(depth);
        });
    }

    /// Emits a block with a conditional exit in the middle.
    fn breakable(&mut self, depth: usize) {
        self.nest(Op::Block(BlockType::Empty), &[], |body| {
            body.statements(depth);
            body.expression(I32, 2);
            body.push(Op::BrIf(0));
            body.statements(depth);
        });
    }

    /// Emits nested blocks with code after each, and a jump to any of them.
    fn switch(&mut self, depth: usize) {
        let cases = 1 + self.rng.below(5) as u32;
        for _ in 0..=cases {
            self.push(Op::Block(BlockType::Empty));
            self.labels.push(Vec::new());
        }
        self.expression(I32, 2);
        if self.rng.chance(70) {
            self.push(Op::I32Const(7));
            self.push(Op::I32And);
        }
        let table: Vec<u32> =
            (0..self.rng.below(8)).map(|_| self.rng.below(cases as usize + 1) as u32).collect();
        self.push(Op::BrTable(table.into(), cases));
        for case in (0..=cases).rev() {
            self.labels.pop();
            self.push(Op::End);
            self.statements(depth);
            if case > 0 && self.rng.chance(60) {
                self.push(Op::Br(case - 1));
            }
        }
    }

    /// Emits the initialisation of a new counter for a few iterations.
    pub fn start_count(&mut self) -> u32 {
        let counter = self.counter();
        let rounds = 1 + self.rng.below(5) as i32;
        self.push(Op::I32Const(rounds));
        self.push(Op::LocalSet(counter));
        counter
    }

    /// Emits code that decrements a counter and leaves whether another iteration follows.
    pub fn count_down(&mut self, counter: u32) {
        self.push(Op::LocalGet(counter));
        self.push(Op::I32Const(1));
        self.push(Op::I32Sub);
        self.push(Op::LocalTee(counter));
    }

    fn counted_loop(&mut self, depth: usize) {
        let counter = self.start_count();
        self.nest(Op::Loop(BlockType::Empty), &[], |body| {
            body.statements(depth);
            body.count_down(counter);
            body.push(Op::BrIf(0));
        });
    }

    /// Emits a loop that may run until the fuel is used up, with an exit from its middle.
    fn wild_loop(&mut self, depth: usize) {
        self.nest(Op::Block(BlockType::Empty), &[], |body| {
            body.nest(Op::Loop(BlockType::Empty), &[], |body| {
                body.statements(depth);
                body.expression(I32, 2);
                body.push(Op::BrIf(1));
                body.statements(depth);
                body.expression(I32, 2);
                let again = if body.rng.chance(80) { Op::BrIf(0) } else { Op::BrTable(vec![0, 1].into(), 1) };
                body.push(again);
            });
        });
    }

    fn call_any(&mut self, depth: usize) {
        let all: Vec<u32> = (self.func + 1..self.functions.0.len() as u32).chain(0..3).collect();
        let callee = self.rng.pick(&all);
        self.call(callee, depth);
        self.consume(self.functions.signature(callee).1);
    }

    /// Emits a call of the function itself, a few levels deep.
    fn recurse(&mut self, depth: usize) {
        let (params, results) = self.functions.signature(self.func);
        if params.first() != Some(&I32) {
            return self.call_any(depth);
        }
        self.push(Op::LocalGet(0));
        self.push(Op::I32Const(15));
        self.push(Op::I32And);
        self.push(Op::LocalTee(0));
        self.nest(Op::If(BlockType::Empty), &[], |body| {
            body.push(Op::LocalGet(0));
            body.push(Op::I32Const(1));
            body.push(Op::I32Sub);
            params[1..].iter().for_each(|&ty| body.expression(ty, 1));
            body.push(Op::Call(body.func));
            body.consume(results);
        });
    }

    /// Emits a conditional exit from a construct or from the function.
    fn guarded_leave(&mut self, depth: usize) {
        if self.rng.chance(50) {
            let (depth, types) = self.label();
            self.values(&types);
            self.expression(I32, 2);
            self.push(Op::BrIf(depth));
            return self.consume(&types);
        }
        self.expression(I32, 2);
        self.nest(Op::If(BlockType::Empty), &[], |body| {
            body.statements(depth);
            body.leave();
            body.statements(depth);
        });
    }

    /// Emits an exit from a construct or from the function; the code after it is dead.
    fn leave(&mut self) {
        let results = self.labels[0].clone();
        match self.rng.below(12) {
            0 => self.push(Op::Unreachable),
            1..=3 => {
                self.values(&results);
                self.push(Op::Return);
            }
            4..=5 => match self.callee(&results) {
                Some(callee) => {
                    self.values(self.functions.signature(callee).0);
                    self.push(Op::ReturnCall(callee));
                }
                None => self.push(Op::Unreachable),
            },
            6 => self.tail_call_indirect(),
            7..=8 => self.leave_by_table(),
            _ => {
                let (depth, types) = self.label();
                self.values(&types);
                self.push(Op::Br(depth));
            }
        }
    }

    fn tail_call_indirect(&mut self) {
        let type_index = self.functions.0[self.func as usize];
        self.values(SIGNATURES[type_index as usize].0);
        self.element_index(1);
        self.push(Op::ReturnCallIndirect { type_index, table_index: 0 });
    }

    /// Emits a switch between all constructs whose labels take the same operands.
    fn leave_by_table(&mut self) {
        let (default, types) = self.label();
        let depths = (0..).zip(self.labels.iter().rev());
        let same: Vec<u32> = depths.filter(|(_, label)| **label == types).map(|(depth, _)| depth).collect();
        let table: Vec<u32> = (0..self.rng.below(5)).map(|_| self.rng.pick(&same)).collect();
        self.values(&types);
        self.expression(I32, 1);
        self.push(Op::BrTable(table.into(), default));
    }

    /// Emits a block with several parameters and results.
    fn swap(&mut self, depth: usize) {
        self.values(&[I32, I64]);
        self.nest(Op::Block(BlockType::FunctionType(SWAP)), &[I64, I32], |body| {
            body.consume(&[I32, I64]);
            body.statements(depth);
            body.values(&[I64, I32]);
            body.expression(I32, 1);
            body.push(Op::BrIf(0));
            body.statements(depth);
        });
        self.consume(&[I64, I32]);
    }

    /// Emits an `if` without `else` whose operand is its result when the condition is false.
    fn if_with_operand(&mut self, depth: usize) {
        self.values(&[I32, I32]);
        self.nest(Op::If(BlockType::FunctionType(UNARY)), &[I32], |body| {
            body.consume(&[I32]);
            body.statements(depth);
            body.expression(I32, 2);
        });
        self.consume(&[I32]);
    }

    fn table(&mut self, depth: usize) {
        self.element_index(1);
        if self.rng.chance(50) {
            let func = self.rng.below(self.functions.0.len()) as u32;
            self.push(Op::RefFunc(func));
        } else {
            self.element_index(depth.min(1));
            self.push(Op::TableGet(0));
        }
        self.push(Op::TableSet(0));
    }

    fn odd(&mut self, depth: usize) {
        match self.rng.below(4) {
            0 => self.push(Op::Nop),
            1 => {
                self.values(&[I32, I32, I32]);
                self.push(Op::I32Const(0xff));
                self.push(Op::I32And);
                self.push(Op::MemoryFill(0));
            }
            2 => {
                self.nest(Op::Block(Self::leaves(&[I32, I64])), &[I32, I64], |body| {
                    body.values(&[I32, I64]);
                    body.statements(depth);
                });
                self.consume(&[I32, I64]);
            }
            _ => {
                self.expression(I32, depth);
                self.push(Op::Call(0));
                self.push(Op::Drop);
            }
        }
    }
}
