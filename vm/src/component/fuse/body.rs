//! The code of an adapter as it is written: instructions, locals, and what adapters do again and again.

use wasm_encoder::{BlockType, Function, InstructionSink, MemArg, MemArgTarget, ValType};

use crate::component::faults::Fault;

/// Code with locals.
pub struct Body {
    code: Vec<u8>,
    params: u32,
    locals: Vec<ValType>,
    /// The function that traps.
    fail: u32,
}

/// A figure that code knows: of 32 bits, of 64 bits, or a constant.
#[derive(Clone, Copy)]
pub enum Figure {
    Narrow(u32),
    Wide(u32),
    Constant(u32),
}

/// One side of a call: the memory there, and the functions for it. Validation provides those that are needed.
#[derive(Clone, Copy, Default)]
pub struct Side {
    pub memory: Option<u32>,
    pub realloc: Option<u32>,
    pub check_text: Option<u32>,
}

impl Body {
    /// Begins a function with so many parameters. Function `fail` traps.
    pub fn new(params: usize, fail: u32) -> Body {
        Body { code: Vec::new(), params: params as u32, locals: Vec::new(), fail }
    }

    /// Ends the function.
    pub fn finish(mut self) -> Function {
        self.sink().end();
        let mut function = Function::new_with_locals_types(self.locals);
        function.raw(self.code);
        function
    }

    /// Returns where instructions go.
    pub fn sink(&mut self) -> InstructionSink<'_> {
        InstructionSink::new(&mut self.code)
    }

    /// Creates a local.
    pub fn local(&mut self, ty: ValType) -> u32 {
        self.locals.push(ty);
        self.params + self.locals.len() as u32 - 1
    }

    /// Creates a local with the value on the stack.
    pub fn keep(&mut self, ty: ValType) -> u32 {
        let local = self.local(ty);
        self.sink().local_set(local);
        local
    }

    /// Traps if the condition on the stack holds. The figures of the fault are these, instead of its own.
    pub fn fail_if(&mut self, fault: Fault, figures: [Figure; 2]) {
        self.sink().if_(BlockType::Empty);
        self.fail(fault, figures);
        self.sink().end();
    }

    /// Traps.
    pub fn fail(&mut self, fault: Fault, figures: [Figure; 2]) {
        self.sink().i32_const(fault.parts().0 as i32);
        figures.into_iter().for_each(|figure| self.push(figure));
        let fail = self.fail;
        self.sink().call(fail).unreachable();
    }

    /// Pushes a figure as 64 bits.
    pub fn push(&mut self, figure: Figure) {
        match figure {
            Figure::Narrow(local) => self.sink().local_get(local).i64_extend_i32_u(),
            Figure::Wide(local) => self.sink().local_get(local),
            Figure::Constant(value) => self.sink().i64_const(value.into()),
        };
    }

    /// Pushes whether so many bytes at an address are not all in a memory.
    pub fn push_is_outside(&mut self, memory: u32, address: u32, bytes: Figure) {
        self.push(Figure::Narrow(address));
        self.push(bytes);
        self.sink().i64_add().memory_size(memory).i64_extend_i32_u().i64_const(16).i64_shl().i64_gt_u();
    }

    /// Traps unless so many bytes at an address are in a memory.
    pub fn check_bounds(&mut self, memory: u32, address: u32, bytes: Figure) {
        self.push_is_outside(memory, address, bytes);
        self.fail_if(Fault::OutOfBounds { at: 0, bytes: 0 }, [Figure::Narrow(address), bytes]);
    }

    /// Traps with a fault unless an address is aligned.
    pub fn check_aligned(&mut self, address: u32, align: u32, fault: fn(u32, u32) -> Fault) {
        if align > 1 {
            self.sink().local_get(address).i32_const(align as i32 - 1).i32_and();
            self.fail_if(fault(0, align), [Figure::Narrow(address), Figure::Constant(align)]);
        }
    }

    /// Traps unless a value that is passed in memory is at an address.
    pub fn check_place(&mut self, memory: u32, address: u32, (size, align): (u32, u32)) {
        self.check_aligned(address, align, |at, align| Fault::Unaligned { at, align });
        self.check_bounds(memory, address, Figure::Constant(size));
    }

    /// Allocates memory; returns the local with the address.
    pub fn reserve(&mut self, side: Side, align: u32, bytes: Figure) -> Option<u32> {
        let (memory, realloc) = (side.memory?, side.realloc?);
        if let Figure::Wide(local) = bytes {
            self.sink().local_get(local).i64_const(i32::MAX.into()).i64_gt_u();
            self.fail_if(Fault::TooLong { bytes: 0 }, [bytes, Figure::Constant(0)]);
        }
        self.sink().i32_const(0).i32_const(0).i32_const(align as i32);
        self.push(bytes);
        self.sink().i32_wrap_i64().call(realloc);
        let address = self.keep(ValType::I32);
        self.check_aligned(address, align, |at, align| Fault::UnalignedRealloc { at, align });
        self.check_bounds(memory, address, bytes);
        Some(address)
    }

    /// Sets or clears a flag in a global.
    pub fn set_flag(&mut self, global: u32, flag: u32, is_set: bool) {
        self.sink().global_get(global);
        match is_set {
            true => self.sink().i32_const(flag as i32).i32_or(),
            false => self.sink().i32_const(!flag as i32).i32_and(),
        };
        self.sink().global_set(global);
    }

    /// Traps if a flag in a global is set.
    pub fn check_flag(&mut self, global: u32, flag: u32, fault: Fault) {
        self.sink().global_get(global).i32_const(flag as i32).i32_and();
        self.fail_if(fault, [Figure::Constant(0); 2]);
    }

    /// Writes what is done in some of the cases of a number, which is less than `all`.
    pub fn choose(
        &mut self,
        number: u32,
        (all, some): (usize, &[usize]),
        mut what: impl FnMut(&mut Body, usize) -> Option<()>,
    ) -> Option<()> {
        if let [case] = some {
            self.sink().local_get(number).i32_const(*case as i32).i32_eq().if_(BlockType::Empty);
            what(self, *case)?;
            self.sink().end();
            return Some(());
        }
        if some.is_empty() {
            return Some(());
        }
        // One block for each case, whose end is its beginning, in a block for what follows.
        for _ in 0..=some.len() {
            self.sink().block(BlockType::Empty);
        }
        let mut labels = vec![some.len() as u32; all];
        (0..).zip(some).for_each(|(label, &case)| labels[case] = label);
        self.sink().local_get(number).br_table(labels, some.len() as u32);
        for (index, case) in some.iter().enumerate() {
            self.sink().end();
            what(self, *case)?;
            self.sink().br((some.len() - 1 - index) as u32);
        }
        self.sink().end();
        Some(())
    }

    /// Repeats what is done for each of the elements of a list, whose number is in a local. The cursors are locals at the
    /// first one, with the size to advance by.
    pub fn repeat(
        &mut self,
        count: u32,
        (cursors, size): (&[u32], u32),
        what: impl FnOnce(&mut Body) -> Option<()>,
    ) -> Option<()> {
        let left = self.local(ValType::I32);
        self.sink().local_get(count).local_tee(left).if_(BlockType::Empty).loop_(BlockType::Empty);
        what(self)?;
        for &cursor in cursors {
            self.sink().local_get(cursor).i32_const(size as i32).i32_add().local_set(cursor);
        }
        self.sink().local_get(left).i32_const(1).i32_sub().local_tee(left).br_if(0).end().end();
        Some(())
    }
}

/// Returns the operand of a memory access of so many bytes.
pub fn memory_operand(memory: u32, offset: u32, bytes: u32) -> MemArg {
    let target = MemArgTarget::Memory(memory);
    MemArg { offset: offset.into(), align: bytes.trailing_zeros(), target, ordering: None }
}
