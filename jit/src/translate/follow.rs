//! Prefetching of hot data streams: of what a loop that follows pointers will need some rounds later.
//!
//! The loop logs the addresses that it follows. As long as they are those of an earlier time, in their order, it loads
//! what came [`stream::AHEAD`] rounds later then; nothing uses the value. At an address that does not fit, an index of
//! the log says where the loop was at this address before, so the prefix by which a stream is recognised is one
//! reference.
//!
//! Invariant: only the stream is written, which belongs to the instance, and what is loaded lies in the memory as it is
//! now: nothing traps, and nothing that the program can see depends on it. Any content of the stream will do.
//! Source: Hirzel & Chilimbi 2001, sections 5.2 and 7, and Chilimbi & Hirzel, *Dynamic Hot Data Stream Prefetching for
//! General-Purpose Programs* (PLDI 2002), which recognise streams by automata in code; a log needs no analysis, and
//! follows a program that changes. Oracle: `vm/tests/code/prefetching.rs`.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};

use super::Translator;
use crate::abi::stream;
use crate::plan::{Chase, Follow};

impl Translator<'_> {
    /// Translates a round of a loop that follows a pointer.
    pub(super) fn follow(&mut self, &Follow { chase, stream }: &Follow) {
        let pointer = self.read_local(chase.local);
        let start = self.input.env().layout.counter(stream).cast_signed();
        let stream = self.builder.ins().iadd_imm_s(self.vmctx, start);
        let flags = self.counter_flags();
        let next = self.builder.ins().load(types::I64, flags, stream, stream::NEXT);
        let lag = self.builder.ins().load(types::I64, flags, stream, stream::LAG);
        let now = self.builder.ins().isub(next, lag);
        let expected = self.load_logged(stream, now);
        let later = self.builder.ins().iadd_imm_s(now, i64::from(stream::AHEAD));
        let ahead = self.load_logged(stream, later);
        self.touch_ahead(&chase, ahead);
        let is_other = self.builder.ins().icmp(IntCC::NotEqual, expected, pointer);
        let (other, go_on) = (self.builder.create_block(), self.builder.create_block());
        // The rare case first: see `translate`'s notes on the order of branches.
        self.builder.ins().brif(is_other, other, &[], go_on, &[]);
        self.builder.seal_block(other);
        self.builder.set_cold_block(other);
        self.builder.switch_to_block(other);
        self.find_in_stream(stream, pointer, (next, lag));
        self.builder.ins().jump(go_on, &[]);
        self.builder.seal_block(go_on);
        self.builder.switch_to_block(go_on);
        // Behind the search, which would find the pointer itself.
        let entry = self.logged(stream, next);
        self.builder.ins().store(flags, pointer, entry, stream::LOG);
        let behind = self.builder.ins().iadd_imm_s(next, 1);
        self.builder.ins().store(flags, behind, stream, stream::NEXT);
    }

    /// Loads the word to which a future pointer leads. If that is outside the memory, loads a word at the
    /// beginning of the memory instead.
    fn touch_ahead(&mut self, chase: &Chase, pointer: Value) {
        let index = self.builder.ins().uextend(types::I64, pointer);
        let end = self.builder.ins().iadd_imm_s(index, i64::from(chase.offset) + 4);
        let len = self.memory_len(chase.memory);
        let is_there = self.builder.ins().icmp(IntCC::UnsignedLessThanOrEqual, end, len);
        let nowhere = self.builder.ins().iconst(types::I64, 0);
        let index = self.builder.ins().select(is_there, index, nowhere);
        let start = self.memory_base(chase.memory);
        let address = self.builder.ins().iadd(start, index);
        let address = self.builder.ins().iadd_imm_s(address, i64::from(chase.offset));
        // Only a load that may trap is kept although nothing uses its value.
        let flags = self.heap_flags(chase.memory);
        self.builder.ins().load(types::I32, flags, address, 0);
    }

    /// Finds an unexpected pointer in the log. If a node was removed, the pointer is in the entry behind the expected
    /// one. Otherwise the index names the entry. If both fail, the node may be new, and the loop waits for the expected
    /// pointer.
    fn find_in_stream(&mut self, stream: Value, pointer: Value, (next, lag): (Value, Value)) {
        let flags = self.counter_flags();
        let [less, more] = [-1, 1].map(|by| self.builder.ins().iadd_imm_s(lag, by));
        let behind = self.builder.ins().isub(next, less);
        let following = self.load_logged(stream, behind);
        let is_following = self.builder.ins().icmp(IntCC::Equal, following, pointer);
        let place = self.indexed(stream, pointer);
        let known = self.builder.ins().load(types::I32, flags, place, stream::INDEX);
        let known_at = self.builder.ins().uextend(types::I64, known);
        let there = self.load_logged(stream, known_at);
        let is_known = self.builder.ins().icmp(IntCC::Equal, there, pointer);
        let distance = self.builder.ins().isub(next, known_at);
        let lag = self.builder.ins().select(is_known, distance, more);
        let lag = self.builder.ins().select(is_following, less, lag);
        self.builder.ins().store(flags, lag, stream, stream::LAG);
        let part = self.builder.ins().band_imm_s(next, i64::from(stream::INDEXED - 1));
        let is_indexed = self.builder.ins().icmp_imm_s(IntCC::Equal, part, 0);
        let is_new = self.builder.ins().bor(is_known, is_indexed);
        let number = self.builder.ins().ireduce(types::I32, next);
        let known = self.builder.ins().select(is_new, number, known);
        self.builder.ins().store(flags, known, place, stream::INDEX);
    }

    /// Returns the address of a pointer's place in the index, without its offset.
    fn indexed(&mut self, stream: Value, pointer: Value) -> Value {
        let hash = self.builder.ins().imul_imm_s(pointer, i64::from(stream::FACTOR.cast_signed()));
        let hash = self.builder.ins().ushr_imm_u(hash, i64::from(32 - stream::INDEX_BITS));
        let hash = self.builder.ins().uextend(types::I64, hash);
        let offset = self.builder.ins().ishl_imm_u(hash, 2);
        self.builder.ins().iadd(stream, offset)
    }

    fn load_logged(&mut self, stream: Value, number: Value) -> Value {
        let (flags, entry): (MemFlagsData, _) = (self.counter_flags(), self.logged(stream, number));
        self.builder.ins().load(types::I32, flags, entry, stream::LOG)
    }

    /// Returns the address of an entry of the log by its number, without its offset.
    fn logged(&mut self, stream: Value, number: Value) -> Value {
        let entry = self.builder.ins().band_imm_s(number, i64::from(stream::ENTRIES - 1));
        let offset = self.builder.ins().ishl_imm_u(entry, 2);
        self.builder.ins().iadd(stream, offset)
    }
}
