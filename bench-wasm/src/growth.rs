//! Modules with one large function, to see how the time and memory of its compilation grow with its length.
//!
//! Input: a shape and a number of bytes. Output: a valid module whose only large function, the last, has about so many
//! bytes of bytecode. Nothing in it is meant to run.

use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, ElementSection, Elements, Function, FunctionSection, GlobalSection,
    GlobalType, MemArg, MemArgTarget, MemorySection, MemoryType, Module, RefType, TableSection, TableType,
    TypeSection, ValType,
};

use crate::random::Random;

/// The number of locals of each type, behind a parameter of type `i32`.
const LOCALS: u32 = 100;

/// The imitated kinds of large functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Shape {
    /// Arithmetic of many locals without control flow.
    Straight,
    /// A loop around a switch with many cases.
    Interpreter,
    /// Many small switches, one after the other.
    Switches,
    /// Nested blocks, out of which conditional branches lead to near and far ends.
    Blocks,
    /// Conditionals with two sides, one after the other.
    Ifs,
    /// Nested conditionals.
    NestedIfs,
    /// Loops, one after the other.
    Loops,
    /// Groups of nested loops.
    NestedLoops,
    /// Calls, direct and indirect.
    Calls,
    /// Loads and stores.
    Memory,
    /// Returns and traps on conditions.
    Exits,
    /// Values that wait on the operand stack.
    Operands,
    /// Random statements, as compilers make them of a long function.
    Mixed,
}

/// The function while it is written.
struct Writer {
    code: Function,
    random: Random,
    /// Blocks around the current instruction.
    depth: u32,
}

/// Returns the module.
pub fn module(shape: Shape, bytes: usize) -> Vec<u8> {
    let locals = [(LOCALS, ValType::I32), (LOCALS, ValType::I64), (LOCALS, ValType::F64)];
    let mut writer = Writer { code: Function::new(locals), random: Random(0), depth: 0 };
    writer.body(shape, bytes);
    writer.read_locals();
    writer.code.instructions().end();
    around(&writer.code)
}

/// Returns a module with a helper function, the function, a memory, a global for each type and a table of both.
fn around(large: &Function) -> Vec<u8> {
    let (mut types, mut functions, mut code) =
        (TypeSection::new(), FunctionSection::new(), CodeSection::new());
    types.ty().function([ValType::I32], [ValType::I32]);
    functions.function(0).function(0);
    let mut helper = Function::new([]);
    helper.instructions().local_get(0).i32_const(3).i32_mul().end();
    code.function(&helper).function(large);
    let mut memories = MemorySection::new();
    memories.memory(MemoryType {
        minimum: 1,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    let mut globals = GlobalSection::new();
    let ty = |val_type| GlobalType { val_type, mutable: true, shared: false };
    globals.global(ty(ValType::I32), &ConstExpr::i32_const(1));
    globals.global(ty(ValType::I64), &ConstExpr::i64_const(1));
    globals.global(ty(ValType::F64), &ConstExpr::f64_const(1.0.into()));
    let (mut tables, mut elements) = (TableSection::new(), ElementSection::new());
    let funcref = RefType::FUNCREF;
    let two = TableType { element_type: funcref, table64: false, minimum: 2, maximum: None, shared: false };
    tables.table(two);
    elements.active(None, &ConstExpr::i32_const(0), Elements::Functions([0, 1].as_slice().into()));
    let mut module = Module::new();
    module.section(&types).section(&functions).section(&tables).section(&memories).section(&globals);
    module.section(&elements).section(&code);
    module.finish()
}

impl Writer {
    fn is_full(&self, bytes: usize) -> bool {
        self.code.byte_len() >= bytes
    }

    fn i32_local(&mut self) -> u32 {
        self.below(LOCALS + 1)
    }

    /// Returns a random number below `limit`.
    fn below(&mut self, limit: u32) -> u32 {
        self.random.below(limit as usize) as u32
    }

    fn body(&mut self, shape: Shape, bytes: usize) {
        if shape == Shape::Interpreter {
            return self.interpreter(bytes);
        }
        while !self.is_full(bytes) {
            match shape {
                Shape::Straight | Shape::Interpreter => self.arithmetic(),
                Shape::Switches => self.switch(),
                Shape::Blocks => self.blocks(60),
                Shape::Ifs => self.conditional(|writer| writer.arithmetic()),
                Shape::NestedIfs => self.nested_ifs(40),
                Shape::Loops => self.repeated(|writer| writer.arithmetic()),
                Shape::NestedLoops => self.nested_loops(8),
                Shape::Calls => self.call(),
                Shape::Memory => self.access(),
                Shape::Exits => self.exit(),
                Shape::Operands => self.operands(40),
                Shape::Mixed => self.statement(0),
            }
        }
    }

    /// Reads all locals, so that all are alive.
    fn read_locals(&mut self) {
        for local in 0..=LOCALS {
            self.code.instructions().local_get(local).global_set(0);
        }
        for local in 1 + LOCALS..1 + 2 * LOCALS {
            self.code.instructions().local_get(local).global_set(1);
        }
        for local in 1 + 2 * LOCALS..1 + 3 * LOCALS {
            self.code.instructions().local_get(local).global_set(2);
        }
        self.code.instructions().local_get(0);
    }

    /// Sets a local to the result of an operation on two locals.
    fn arithmetic(&mut self) {
        let kind = self.below(4);
        let from = [0, 0, 1 + LOCALS, 1 + 2 * LOCALS][kind as usize];
        let [a, b, to] = std::array::from_fn(|_| from + self.below(LOCALS));
        let mut code = self.code.instructions();
        code.local_get(a).local_get(b);
        match kind {
            0 => code.i32_add(),
            1 => code.i32_xor(),
            2 => code.i64_mul(),
            _ => code.f64_add(),
        };
        code.local_set(to);
    }

    fn conditional(&mut self, mut side: impl FnMut(&mut Writer)) {
        let local = self.i32_local();
        self.code.instructions().local_get(local).if_(BlockType::Empty);
        self.depth += 1;
        side(self);
        self.code.instructions().else_();
        side(self);
        self.code.instructions().end();
        self.depth -= 1;
    }

    fn nested_ifs(&mut self, levels: u32) {
        if levels == 0 {
            return self.arithmetic();
        }
        self.arithmetic();
        let local = self.i32_local();
        self.code.instructions().local_get(local).if_(BlockType::Empty);
        self.depth += 1;
        self.nested_ifs(levels - 1);
        self.code.instructions().else_();
        self.arithmetic();
        self.code.instructions().end();
        self.depth -= 1;
    }

    fn repeated(&mut self, mut body: impl FnMut(&mut Writer)) {
        self.code.instructions().loop_(BlockType::Empty);
        self.depth += 1;
        body(self);
        let local = self.i32_local();
        self.code.instructions().local_get(local).i32_const(1).i32_sub().local_tee(local).br_if(0).end();
        self.depth -= 1;
    }

    fn nested_loops(&mut self, levels: u32) {
        self.repeated(|writer| match levels {
            0 => writer.arithmetic(),
            _ => writer.nested_loops(levels - 1),
        });
    }

    fn blocks(&mut self, levels: u32) {
        for _ in 0..levels {
            self.code.instructions().block(BlockType::Empty);
        }
        for left in (1..=levels).rev() {
            self.arithmetic();
            let (local, to) = (self.i32_local(), self.below(left));
            self.code.instructions().local_get(local).br_if(to).end();
        }
    }

    fn switch(&mut self) {
        for _ in 0..5 {
            self.code.instructions().block(BlockType::Empty);
        }
        let local = self.i32_local();
        self.code.instructions().local_get(local).br_table([0, 1, 2, 3], 4).end();
        for left in (0..4).rev() {
            self.arithmetic();
            self.code.instructions().br(left).end();
        }
    }

    /// Writes a loop around a switch whose cases load, compute, sometimes branch, and go around.
    fn interpreter(&mut self, bytes: usize) {
        let cases = (bytes / 30) as u32;
        self.code.instructions().loop_(BlockType::Empty);
        for _ in 0..=cases {
            self.code.instructions().block(BlockType::Empty);
        }
        let targets: Vec<u32> = (0..cases).collect();
        self.code.instructions().local_get(0).br_table(targets, cases).end();
        for left in (0..cases).rev() {
            self.access();
            self.arithmetic();
            if self.below(4) == 0 {
                self.conditional(|writer| writer.arithmetic());
            }
            self.code.instructions().br(left + 1).end();
        }
        self.code.instructions().end();
    }

    fn call(&mut self) {
        let (from, to, indirect) = (self.i32_local(), self.i32_local(), self.below(4) == 0);
        let mut code = self.code.instructions();
        code.local_get(from);
        match indirect {
            true => code.local_get(to).call_indirect(0, 0),
            false => code.call(0),
        };
        code.local_set(to);
    }

    fn access(&mut self) {
        let (address, local, stores) = (self.i32_local(), self.i32_local(), self.below(3) == 0);
        let offset = u64::from(self.below(500));
        let at = MemArg { offset, align: 2, target: MemArgTarget::Memory(0), ordering: None };
        let mut code = self.code.instructions();
        match stores {
            true => code.local_get(address).local_get(local).i32_store(at),
            false => code.local_get(address).i32_load(at).local_set(local),
        };
    }

    fn exit(&mut self) {
        self.arithmetic();
        let (local, traps) = (self.i32_local(), self.below(3) == 0);
        let mut code = self.code.instructions();
        code.local_get(local).if_(BlockType::Empty);
        match traps {
            true => code.unreachable(),
            false => code.local_get(local).return_(),
        };
        code.end();
    }

    fn operands(&mut self, count: u32) {
        for _ in 0..count {
            let local = self.i32_local();
            self.code.instructions().local_get(local).call(0);
        }
        for _ in 1..count {
            self.code.instructions().i32_add();
        }
        let local = self.i32_local();
        self.code.instructions().local_set(local);
    }

    /// Writes a statement inside of `levels` others.
    fn statement(&mut self, levels: u32) {
        let kind = self.below(if levels < 7 { 18 } else { 10 });
        let body = |writer: &mut Writer| {
            for _ in 0..1 + writer.below(5) {
                writer.statement(levels + 1);
            }
        };
        match kind {
            0..=3 => self.arithmetic(),
            4..=7 => self.access(),
            8 => self.call(),
            9 => self.exit(),
            10..=14 => self.conditional(body),
            15 => self.switch(),
            16 => self.blocks(3),
            _ => self.repeated(body),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn modules_are_valid_and_about_as_long_as_wanted() {
        for shape in Shape::value_variants() {
            for bytes in [3_000, 30_000] {
                let module = module(*shape, bytes);
                let valid = wasmparser::Validator::new().validate_all(&module);
                assert!(valid.is_ok(), "{shape:?}: {:?}", valid.err());
                // The last statement may be of thousands of bytes.
                let lengths = bytes..2 * bytes + 10_000;
                assert!(lengths.contains(&module.len()), "{shape:?}: {}", module.len());
            }
        }
    }
}
