//! Strip-mined checks: a loop is checked once every several rounds.
//!
//! A check costs each round two instructions. Where the trip count of a loop is known ([`Strip`]), the loop header
//! checks, counts the checks of the next rounds in advance, at most [`ROUNDS_OF_STRIP`] (or [`VECTORS_OF_STRIP`] vectors), and computes the value at
//! which these rounds end, the *stop*; an inner loop begins behind it. The latch first tests whether the local has
//! reached the stop. If not, the inner loop continues without another test; if so, the loop's own test decides whether
//! the loop ends or returns to the check. To Cranelift both are ordinary loops.
//!
//! Invariant: with `first` as the value of the next test, the stop is `first + n * step`, and no value before it
//! reaches the bound. So the loop's own test would continue at each of these values; the stop is hit exactly, and the
//! next check comes after at most `n` more rounds, whether or not the loop ends.
//! Example: `loop: check; body; i += 1; if i != n goto loop` becomes `loop: check; stop = i + 1 + min(n - i - 1, 63);
//! inner: body; i += 1; if i != stop goto inner; if i != n goto loop`.
//!
//! [`Strip`]: crate::plan::Strip

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, Type, Value, types};

use super::Translator;
use crate::graph::Node;
use crate::options::Pass;
use crate::plan::{Countdown, GoesOn, ROUNDS_OF_STRIP, VECTORS_OF_STRIP};

impl Translator<'_> {
    /// Begins the inner loop behind the check of a header, and counts in advance what the rounds of the strip would
    /// count.
    pub(super) fn begin_strip(&mut self, countdown: &Countdown) {
        let header = self.position.node() as u32;
        let latches = self.input.graph().latches_of_strip(header);
        if latches.is_empty() || !self.counts_checks_in_register() {
            return;
        }
        let (stop, rounds) = self.strip_ahead(countdown);
        let rounds = self.checks_of(rounds);
        let count = self.builder.ins().get_pinned_reg(types::I64);
        let left = self.builder.ins().isub(count, rounds);
        self.builder.ins().set_pinned_reg(left);
        let inner = self.builder.create_block();
        self.builder.ins().jump(inner, &[]);
        self.builder.switch_to_block(inner);
        self.addresses.forget();
        self.blocks.strips().open(header, (inner, stop), latches);
        self.note_vectors(&self.input.graph().nodes[self.position.node()], inner);
    }

    /// Notes the header of a loop that may be vectorised.
    pub(super) fn note_vectors(&mut self, node: &Node, header: ir::Block) {
        if node.vectors.is_some() && self.input.has(Pass::Vectors) {
            self.output.add_vectors(header, node.start);
        }
    }

    /// Returns the maximum number of rounds of a strip: more where vectors do several at once.
    fn rounds_of_strip(&self) -> u32 {
        let vectors =
            self.input.graph().nodes[self.position.node()].vectors.filter(|_| self.input.has(Pass::Vectors));
        vectors.map_or(ROUNDS_OF_STRIP, |vectors| VECTORS_OF_STRIP * vectors.lanes)
    }

    /// Computes the number of checks that these rounds count as. If the loop is unrolled in other code, it has one
    /// check for several rounds there. It must be sampled equally often here.
    fn checks_of(&mut self, rounds: Value) -> Value {
        let rounds_of_check = self.input.graph().nodes[self.position.node()]
            .vectors
            .map_or(1, |vectors| vectors.rounds_of_check);
        if rounds_of_check < 2 || !self.input.has(Pass::Unroll) {
            return rounds;
        }
        // So few rounds that the rounded reciprocal gives the quotient.
        let reciprocal = (1_i64 << 16) / i64::from(rounds_of_check) + 1;
        let product = self.builder.ins().imul_imm_u(rounds, reciprocal);
        self.builder.ins().ushr_imm_u(product, 16)
    }

    /// If the node is the latch of a strip, branches to the inner loop unless the strip ends.
    pub(super) fn stay_in_strip(&mut self, node: &Node) {
        let index = self.position.node() as u32;
        let mut headers = node.wires.iter().filter_map(|wire| wire.to);
        let strips = self.blocks.strips();
        let Some(header) = headers.find(|&to| strips.has_latch(to, index)) else { return };
        let (inner, stop) = strips.inner(header);
        let countdown = self.input.graph().nodes[header as usize].strip.expect("the header of a strip");
        let local = self.read_local(countdown.local);
        let rest = self.countdown_constant(&countdown, countdown.plus.wrapping_sub(countdown.step));
        let tested = self.builder.ins().iadd(local, rest);
        let goes_on = self.builder.ins().icmp(IntCC::NotEqual, tested, stop);
        let behind = self.builder.create_block();
        self.builder.ins().brif(goes_on, inner, &[], behind, &[]);
        self.builder.seal_block(behind);
        self.blocks.strips().latched(header, index, &mut self.builder);
        self.builder.switch_to_block(behind);
    }

    /// Computes the stop, and the number of rounds before it minus one, with 64 bits.
    fn strip_ahead(&mut self, countdown: &Countdown) -> (Value, Value) {
        let ty = if countdown.is_64 { types::I64 } else { types::I32 };
        let local = self.read_local(countdown.local);
        let plus = self.countdown_constant(countdown, countdown.plus);
        let first = self.builder.ins().iadd(local, plus);
        let bound = self.countdown_bound(countdown);
        let distance = self.distance(countdown, first, bound);
        // If the step is not a power of 2 the strip may be shorter.
        let step = countdown.step.unsigned_abs();
        let shift = i64::from(step.next_power_of_two().trailing_zeros());
        let rounds = self.builder.ins().ushr_imm_u(distance, shift);
        let most = i64::from(self.rounds_of_strip()) - 1;
        let most = self.builder.ins().iconst(types::I64, most);
        let is_far = self.builder.ins().icmp(IntCC::UnsignedGreaterThan, rounds, most);
        let rounds = self.builder.ins().select(is_far, most, rounds);
        let way = self.builder.ins().imul_imm_s(rounds, countdown.step);
        let way = self.narrowed(way, ty);
        (self.builder.ins().iadd(first, way), rounds)
    }

    /// Computes the distance of the first tested value from the bound, in the direction of the steps, with 64 bits: 0
    /// if it is beyond the bound.
    fn distance(&mut self, countdown: &Countdown, first: Value, bound: Value) -> Value {
        let (from, to) = if countdown.step > 0 { (first, bound) } else { (bound, first) };
        let order = match countdown.goes_on {
            GoesOn::Until => {
                // Modulo the type's size: the bound is reached sooner or later, perhaps after a wrap-around.
                let distance = self.builder.ins().isub(to, from);
                return if countdown.is_64 {
                    distance
                } else {
                    self.builder.ins().uextend(types::I64, distance)
                };
            }
            GoesOn::Below(order) | GoesOn::Above(order) => order,
        };
        let [from, to] = [from, to].map(|value| match order.is_signed {
            true => self.builder.ins().sextend(types::I64, value),
            false => self.builder.ins().uextend(types::I64, value),
        });
        let distance = self.builder.ins().isub(to, from);
        let zero = self.builder.ins().iconst(types::I64, 0);
        let is_beyond = self.builder.ins().icmp(IntCC::SignedLessThan, distance, zero);
        self.builder.ins().select(is_beyond, zero, distance)
    }

    fn narrowed(&mut self, value: Value, ty: Type) -> Value {
        if ty == types::I64 { value } else { self.builder.ins().ireduce(ty, value) }
    }
}
