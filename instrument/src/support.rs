//! The functions that are added to a module: code that is too long, or too rare, to be inlined.
//!
//! **Frames that were left behind.** The entry of a frame, once written, lies just above the topmost entry at the time
//! when the frame began (its *place*). If there are entries above its own while the frame itself runs, an exception, a
//! trap or an exit of the host has left frames behind. Their entries are booked: each adds 1 to the row of its site and
//! path. Only a call that can reach the host, and a handler, can find such entries.

mod records;
mod table;
mod trace;

pub use trace::shim;

use wasm_encoder::{BlockType, Function, InstructionSink, MemArg, MemArgTarget, ValType};

use crate::hot::Hot;
use crate::layout::{
    ENTRY, FIRST_COUNTER, FLAGS, GUESSED, Global, HEIGHT, IS_SITE, LENGTH, Layout, MAGIC, ROW, ROWS, SPARE,
    SPARE_NOTE, Support, TABLE, TRACE_END,
};

/// The multiplier of the hash: the golden ratio, an odd number without a pattern.
const MIX: i64 = 0x9e37_79b9_7f4a_7c15_u64.cast_signed();

/// The facts about the program that support functions need besides the layout.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The maximum number of pages of the program's memory, if the region is behind it.
    pub most_pages: u32,
    /// The start function, if the region must be allocated before it runs.
    pub start: Option<u32>,
    /// Whether functions have path registers.
    pub has_paths: bool,
    /// The number of bytes that call records may take.
    pub room: u32,
}

/// The parameter and result types of a function.
type Signature = (&'static [ValType], &'static [ValType]);

/// Returns the signature of an added function.
pub fn signature(func: Support, layout: &Layout, program: &Program) -> Signature {
    use ValType::{I32, I64};
    match func {
        Support::Locate => (&[I32, I32, I64], &[I32]),
        Support::Bump if layout.records.is_some() => (&[I32, I32, I64, I64], &[]),
        Support::Bump => (&[I32, I64, I64], &[]),
        Support::Row | Support::Evict => (&[I32, I32, I64, I64], &[]),
        Support::Left | Support::Count | Support::Returned => (&[I32], &[]),
        Support::Retract | Support::Begin | Support::Back | Support::Caught | Support::Mend => (&[I32], &[]),
        Support::Emit => (&[I64, I32], &[]),
        Support::Flush => (&[], &[I32]),
        Support::Rehash | Support::Clear | Support::Settle | Support::Start | Support::Unnamed => (&[], &[]),
        Support::Mark => match (program.has_paths, layout.owes_records()) {
            (false, false) => (&[I32, I32], &[]),
            (false, true) => (&[I32, I32, I32], &[]),
            (true, false) => (&[I32, I32, I64], &[]),
            (true, true) => (&[I32, I32, I32, I64], &[]),
        },
        Support::Grow => (&[I32], &[I32]),
        Support::Enter => (&[I32, I32, I32], &[I32]),
        Support::Find | Support::Make => (&[I32, I32, I32, I32], &[I32]),
        Support::Host => (&[I32, I32], &[]),
    }
}

/// Returns an added function.
pub fn body(func: Support, layout: &Layout, program: &Program, hot: &Hot) -> Function {
    match func {
        Support::Locate => table::locate(layout),
        Support::Bump => table::bump(layout),
        Support::Row => table::row(layout),
        Support::Evict => table::evict(layout),
        Support::Left if layout.trace.is_some() => trace::left(layout),
        Support::Left => left(layout),
        Support::Flush => flush(layout, hot),
        Support::Rehash => table::rehash(layout),
        Support::Clear => clear(layout),
        Support::Count => count(layout),
        Support::Mark => mark(layout, program.has_paths),
        Support::Returned => returned(layout),
        Support::Settle => settle(layout),
        Support::Grow => grow(layout, program.most_pages),
        Support::Start => start(layout, program.start),
        Support::Enter => records::enter(layout),
        Support::Find => records::find(layout),
        Support::Make => records::make(layout),
        Support::Host => records::host(layout),
        Support::Unnamed => records::unnamed(layout),
        Support::Emit => trace::emit(layout),
        Support::Retract => trace::retract(layout),
        Support::Begin => trace::begin(layout),
        Support::Back => trace::back(layout),
        Support::Caught => trace::caught(layout),
        Support::Mend => trace::mend(layout),
    }
}

/// A writer of instructions that knows the layout.
pub struct Code<'a, 'b> {
    pub layout: &'b Layout,
    pub sink: InstructionSink<'a>,
}

impl Code<'_, '_> {
    /// Returns the memory operand for `offset` bytes behind the address on the stack.
    pub fn at(&self, offset: u32, align: u32) -> MemArg {
        let target = MemArgTarget::Memory(self.layout.memory);
        MemArg { offset: offset.into(), align, target, ordering: None }
    }

    /// Pushes the address of the region, for access at a constant offset in it.
    pub fn region(&mut self) {
        if self.layout.is_shared {
            self.get(Global::Base);
        } else {
            self.sink.i32_const(0);
        }
    }

    /// Converts the offset in the region on the stack into an address.
    pub fn address(&mut self) {
        if self.layout.is_shared {
            self.get(Global::Base);
            self.sink.i32_add();
        }
    }

    pub fn get(&mut self, global: Global) {
        self.sink.global_get(self.layout.global(global));
    }

    pub fn set(&mut self, global: Global) {
        self.sink.global_set(self.layout.global(global));
    }

    pub fn call(&mut self, func: Support) {
        self.sink.call(self.layout.func(func));
    }

    /// Writes an entry, whose place and path register are locals. A new entry becomes the topmost one.
    pub fn entry(
        &mut self,
        place: u32,
        site: impl FnOnce(&mut InstructionSink<'_>),
        (record, path): (Option<u32>, Option<u32>),
        is_new: bool,
    ) {
        self.sink.local_get(place);
        self.address();
        let at = self.at(0, 2);
        site(&mut self.sink);
        self.sink.i32_store(at);
        if let Some(record) = record {
            self.sink.local_get(place);
            self.address();
            let at = self.at(4, 2);
            self.sink.local_get(record).i32_store(at);
        }
        if let Some(path) = path {
            self.sink.local_get(place);
            self.address();
            let at = self.at(8, 3);
            self.sink.local_get(path).i64_store(at);
        }
        if is_new {
            self.sink.local_get(place);
            self.set(Global::Height);
        }
    }

    /// Moves the region, if the host has grown the memory that contains it.
    pub fn settle(&mut self) {
        if self.layout.is_shared {
            self.sink.memory_size(self.layout.memory);
            self.get(Global::Whole);
            self.sink.i32_ne().if_(BlockType::Empty);
            self.call(Support::Settle);
            self.sink.end();
        }
    }

    /// Subtracts the pages that are not the program's from the size of the memory on the stack.
    pub fn without_region(&mut self) {
        if self.layout.gets_region {
            // The host may have left more pages than the region has.
            self.get(Global::Whole);
            self.get(Global::Base);
            self.sink.i32_const(16).i32_shr_u().i32_sub();
        } else {
            self.get(Global::Pages);
        }
        self.sink.i32_sub();
    }

    /// Books the entries above the place in local `place`.
    pub fn returned(&mut self, place: u32) {
        self.settle();
        self.get(Global::Height);
        self.sink.local_get(place).i32_ne().if_(BlockType::Empty).local_get(place);
        self.call(Support::Left);
        self.sink.end();
    }

    /// Pushes the hash of a row with the name in these locals. The hash is not changed by a record 0.
    fn hash(&mut self, id: u32, record: Option<u32>, key: u32) {
        self.sink.local_get(key).local_get(id).i64_extend_i32_u().i64_const(32).i64_rotl().i64_xor();
        if let Some(record) = record {
            self.sink.local_get(record).i64_extend_i32_u().i64_const(20).i64_rotl().i64_xor();
        }
        self.sink.i64_const(MIX).i64_mul().i64_const(32).i64_shr_u().i32_wrap_i64();
    }

    /// Converts the hash on the stack into the address of the row that the search begins with.
    fn row_of_hash(&mut self) {
        self.get(Global::Rows);
        self.sink.i32_const(1).i32_sub().i32_and().i32_const(ROW as i32).i32_mul();
        self.get(Global::Table);
        self.sink.i32_add();
        self.address();
    }

    /// Pushes the address of the row at which the search for the name in these locals begins.
    fn row_at_hash(&mut self, id: u32, record: Option<u32>, key: u32) {
        self.hash(id, record, key);
        self.row_of_hash();
    }

    /// Pushes the record in the entry at local `at`, if rows have records; 0 if entries have none.
    fn record_of(&mut self, at: u32) {
        if self.layout.owes_records() {
            let record = self.at(4, 2);
            self.sink.local_get(at);
            self.address();
            self.sink.i32_load(record);
        } else if self.layout.records.is_some() {
            self.sink.i32_const(0);
        }
    }

    /// Stores a word into the head.
    fn head(&mut self, place: u32, value: impl FnOnce(&mut Self)) {
        self.region();
        value(self);
        let at = self.at(place, 2);
        self.sink.i32_store(at);
    }

    fn flag(&mut self, flag: u32) {
        self.get(Global::Flags);
        self.sink.i32_const(flag as i32).i32_or();
        self.set(Global::Flags);
    }
}

fn function(layout: &Layout, locals: &[(u32, ValType)], write: impl FnOnce(&mut Code<'_, '_>)) -> Function {
    let mut function = Function::new(locals.iter().copied());
    let mut code = Code { layout, sink: function.instructions() };
    write(&mut code);
    code.sink.end();
    function
}

/// `(place)`: books the entries above `place`, and removes them.
fn left(layout: &Layout) -> Function {
    const PLACE: u32 = 0;
    const AT: u32 = 1;
    function(layout, &[(1, ValType::I32)], |code| {
        code.sink.local_get(PLACE).i32_const(ENTRY as i32).i32_add().local_set(AT);
        code.sink.block(BlockType::Empty).loop_(BlockType::Empty).local_get(AT);
        code.get(Global::Height);
        code.sink.i32_gt_u().br_if(1).local_get(AT);
        code.address();
        let [site, register] = [0, 8].map(|offset| code.at(offset, 2 + offset / 8));
        code.sink.i32_load(site).i32_const(IS_SITE.cast_signed()).i32_or();
        code.record_of(AT);
        code.sink.local_get(AT);
        code.address();
        code.sink.i64_load(register).i64_const(1);
        code.call(Support::Bump);
        code.sink.local_get(AT).i32_const(ENTRY as i32).i32_add().local_set(AT).br(0).end().end();
        code.sink.local_get(PLACE);
        code.set(Global::Height);
    })
}

/// `(counter)`: increments the counter.
fn count(layout: &Layout) -> Function {
    const AT: u32 = 0;
    function(layout, &[], |code| {
        code.sink.local_get(AT).i32_const(3).i32_shl();
        code.address();
        let at = code.at(FIRST_COUNTER, 3);
        code.sink.local_tee(AT).local_get(AT).i64_load(at).i64_const(1).i64_add().i64_store(at);
    })
}

/// `(place, site)`, the frame's record if entries have it, and the path register if there is one: writes the entry of a
/// frame.
fn mark(layout: &Layout, has_paths: bool) -> Function {
    const PLACE: u32 = 0;
    const SITE: u32 = 1;
    let record = layout.owes_records().then_some(2);
    let path = has_paths.then_some(2 + u32::from(record.is_some()));
    let site = |sink: &mut InstructionSink<'_>| {
        sink.local_get(SITE);
    };
    function(layout, &[], |code| code.entry(PLACE, site, (record, path), true))
}

/// `(place)`: runs after a call of the host: books the frames that it dropped, and moves the region if the memory has grown.
fn returned(layout: &Layout) -> Function {
    function(layout, &[], |code| code.returned(0))
}

/// Fills in the head and the counters that are variables, and returns the address of the region.
fn flush(layout: &Layout, hot: &Hot) -> Function {
    function(layout, &[], |code| {
        if layout.is_shared {
            code.call(Support::Settle);
        }
        code.head(0, |code| {
            code.sink.i32_const(MAGIC as i32);
        });
        code.head(LENGTH, |code| {
            code.get(Global::Pages);
            code.sink.i32_const(16).i32_shl();
        });
        code.head(HEIGHT, |code| {
            code.get(Global::Height);
            code.sink.i32_const(layout.no_entry() as i32).i32_sub();
        });
        for (place, global) in [(TABLE, Global::Table), (ROWS, Global::Rows), (FLAGS, Global::Flags)] {
            code.head(place, |code| code.get(global));
        }
        if layout.trace.is_some() {
            code.head(TRACE_END, |code| {
                code.sink.i32_const(layout.first_table().cast_signed());
            });
        }
        for (counter, global) in hot.all() {
            code.region();
            let at = code.at(FIRST_COUNTER + 8 * counter, 3);
            code.sink.global_get(global).i64_store(at);
        }
        code.region();
    })
}

/// Books all entries, because there are too many, although some may be of frames that are still live.
fn clear(layout: &Layout) -> Function {
    function(layout, &[], |code| {
        code.flag(GUESSED);
        code.sink.i32_const(layout.no_entry() as i32);
        code.call(Support::Left);
    })
}

/// Moves the region, which begins at a base, up by `pages` pages, and clears the bytes that it leaves.
fn move_up(code: &mut Code<'_, '_>, pages: u32, bytes: u32) {
    let memory = code.layout.memory;
    code.sink.local_get(pages).i32_const(16).i32_shl().local_set(bytes);
    code.get(Global::Base);
    code.sink.local_get(bytes).i32_add();
    code.get(Global::Base);
    code.get(Global::Pages);
    code.sink.i32_const(16).i32_shl().memory_copy(memory, memory);
    // Clear only bytes that the moved region does not cover.
    code.get(Global::Base);
    code.sink.i32_const(0).local_get(pages);
    code.get(Global::Pages);
    code.sink.local_get(pages);
    code.get(Global::Pages);
    code.sink.i32_lt_u().select().i32_const(16).i32_shl().memory_fill(memory);
    code.get(Global::Base);
    code.sink.local_get(bytes).i32_add();
    code.set(Global::Base);
    code.sink.memory_size(memory);
    code.set(Global::Whole);
}

/// Moves the region to the end of a memory that the host has grown.
fn settle(layout: &Layout) -> Function {
    const PAGES: u32 = 0;
    const BYTES: u32 = 1;
    function(layout, &[(2, ValType::I32)], |code| {
        code.sink.memory_size(layout.memory);
        code.get(Global::Whole);
        code.sink.i32_sub().local_tee(PAGES).if_(BlockType::Empty);
        move_up(code, PAGES, BYTES);
        code.sink.end();
    })
}

/// Implements `memory.grow` for the program: the region stays at the end.
fn grow(layout: &Layout, most_pages: u32) -> Function {
    const PAGES: u32 = 0;
    const BYTES: u32 = 1;
    const OLD: u32 = 2;
    function(layout, &[(2, ValType::I32)], |code| {
        code.call(Support::Settle);
        code.get(Global::Base);
        code.sink
            .i32_const(16)
            .i32_shr_u()
            .local_tee(OLD)
            .i64_extend_i32_u()
            .local_get(PAGES)
            .i64_extend_i32_u();
        code.sink.i64_add().i64_const(most_pages.into()).i64_gt_u().if_(BlockType::Empty);
        code.sink.i32_const(-1).return_().end();
        code.sink.local_get(PAGES).memory_grow(layout.memory).i32_const(-1).i32_eq().if_(BlockType::Empty);
        code.sink.i32_const(-1).return_().end();
        code.sink.local_get(PAGES).if_(BlockType::Empty);
        move_up(code, PAGES, BYTES);
        code.sink.end();
        code.sink.local_get(OLD);
    })
}

/// Allocates the region behind an imported memory, or traps, and starts the program. If the host has made the memory
/// larger, nothing grows: the host's views of the memory stay.
fn start(layout: &Layout, program: Option<u32>) -> Function {
    const OLD: u32 = 0;
    const NOTE: u32 = 1;
    function(layout, &[(2, ValType::I32)], |code| {
        let [spare, mark] = [code.at(0, 2), code.at(8, 3)];
        code.sink.block(BlockType::Empty).block(BlockType::Empty);
        code.sink.memory_size(layout.memory).local_tee(OLD).i32_eqz().br_if(0);
        code.sink.local_get(OLD).i32_const(16).i32_shl().i32_const(SPARE_NOTE.cast_signed()).i32_sub();
        code.sink.local_tee(NOTE).i64_load(mark).i64_const(SPARE.cast_signed()).i64_ne().br_if(0);
        code.sink.local_get(NOTE).i32_load(spare);
        code.get(Global::Pages);
        code.sink.i32_lt_u().br_if(0);
        code.sink.local_get(OLD).local_get(NOTE).i32_load(spare).i32_sub().local_set(OLD);
        code.sink.local_get(NOTE).i32_const(0).i32_const(SPARE_NOTE.cast_signed()).memory_fill(layout.memory);
        code.sink.br(1).end();
        code.get(Global::Pages);
        code.sink.memory_grow(layout.memory).local_tee(OLD).i32_const(-1).i32_eq().if_(BlockType::Empty);
        code.sink.unreachable().end().end();
        code.sink.local_get(OLD).i32_const(16).i32_shl();
        code.set(Global::Base);
        code.sink.memory_size(layout.memory);
        code.set(Global::Whole);
        if let Some(program) = program {
            code.sink.call(program);
        }
    })
}
