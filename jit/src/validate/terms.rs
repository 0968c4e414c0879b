//! Values as terms: two values are known to be equal if they are the same term.
//!
//! Terms are hash-consed, so each is made once and named by a number. 64-bit sums have a normal form, a constant plus
//! multiples of other terms, so that `lea`, `add` and shifts with the same result are the same term. Everything else is
//! an uninterpreted function of its operands.
//! Source: value numbering, Kildall, POPL 1973; Alpern, Wegman & Zadeck, POPL 1988. The numbering is deterministic.

use std::fmt::Write;

use hashbrown::HashMap;
use smallvec::{SmallVec, smallvec};

/// The number of a term.
pub(crate) type Term = u32;

/// The stack pointer at the entry of the function.
pub(crate) const FRAME: Term = 0;

/// The operands of a term.
pub(crate) type Args = SmallVec<[Term; 4]>;

/// An operation on terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// The lowest bits, zero-extended.
    Low(u8),
    /// The lowest bits, sign-extended.
    SignExtend(u8),
    /// The first operand, with that many bits from bit `from` on replaced by the second.
    Insert { bits: u8, from: u8 },
    /// The contents of that many bytes of memory; the operands are the address and the versions of the memory.
    Load(u32),
    /// The bytes of a constant, in words of eight bytes, and whether it is aligned.
    Constant { bytes: u32, is_aligned: bool },
    /// A place in the code of one of the versions.
    Place { place: u32, is_new: bool },
    /// The entry of a jump table at this place; the operand is the distance from its beginning.
    Entry { table: u32, is_new: bool },
    /// The smaller of the operand and a number.
    AtMost(u64),
    /// The flags of a subtraction of that many bytes; the operands are the minuend and the subtrahend.
    FlagsOfDifference(u8),
    /// The flags of a sum of that many bytes.
    FlagsOfSum(u8),
    /// The flags of the pinned register's sum with a number; the operands are the sum, and the register's old value.
    FlagsOfCount,
    /// The flags of a result of that many bytes without a carry.
    FlagsOfResult(u8),
    /// Whether flags meet a condition.
    Condition(u8),
    /// The second operand if the first is true, otherwise the third.
    Select,
    /// The value that a call, by the number of its event, leaves in a location.
    Left { event: u32, location: u32 },
    /// The address of a runtime routine.
    Routine { number: u32, addend: i64 },
    /// A bitwise operation that commutes, by its mnemonic.
    Bitwise(u32),
    /// The operand masked by a number.
    Masked(u64),
    /// The operand shifted to the right, by less than 64 bits; with copies of its sign if `is_signed`.
    ShiftedRight { by: u8, is_signed: bool },
    /// One of the results of another instruction.
    Instruction { code: u32, part: u8, more: u32 },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Node {
    Symbol(u32),
    Sum(u64, Parts),
    Apply(Op, Args),
}

/// Terms with their factors, ascending.
type Parts = SmallVec<[(Term, u64); 2]>;

/// Facts about a term.
#[derive(Clone, Copy, Debug)]
struct Facts {
    /// An upper bound.
    most: u64,
    /// Whether the term may be an address in the frame, or be computed from one.
    is_of_frame: bool,
    /// Whether the old code (1) and the new code (2) have loaded it.
    loaded: u8,
}

/// All terms of a segment.
#[derive(Default)]
pub(crate) struct Terms {
    nodes: Vec<Node>,
    facts: Vec<Facts>,
    known: HashMap<Node, Term>,
    symbols: u32,
}

impl Terms {
    /// Forgets all terms but the frame.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.facts.clear();
        self.known.clear();
        self.symbols = 0;
        self.symbol(u64::MAX, true);
    }

    /// Creates a new symbol with these facts.
    pub fn symbol(&mut self, most: u64, is_of_frame: bool) -> Term {
        let node = Node::Symbol(self.symbols);
        self.symbols += 1;
        self.push(node, Facts { most, is_of_frame, loaded: 0 })
    }

    fn push(&mut self, node: Node, facts: Facts) -> Term {
        let term = self.nodes.len() as Term;
        self.nodes.push(node.clone());
        self.facts.push(facts);
        self.known.insert(node, term);
        term
    }

    fn intern(&mut self, node: Node, facts: impl FnOnce(&Terms) -> Facts) -> Term {
        match self.known.get(&node) {
            Some(&term) => term,
            None => {
                let facts = facts(self);
                self.push(node, facts)
            }
        }
    }

    pub fn constant(&mut self, number: u64) -> Term {
        self.sum(number, SmallVec::new())
    }

    /// Returns the number that a term stands for.
    pub fn as_constant(&self, term: Term) -> Option<u64> {
        match &self.nodes[term as usize] {
            Node::Sum(number, parts) if parts.is_empty() => Some(*number),
            _ => None,
        }
    }

    /// Returns the distance from the frame's top of the address that a term stands for.
    pub fn as_frame(&self, term: Term) -> Option<i64> {
        match &self.nodes[term as usize] {
            Node::Symbol(0) => Some(0),
            Node::Sum(number, parts) if parts[..] == [(FRAME, 1)] => Some(*number as i64),
            _ => None,
        }
    }

    /// Returns an address in the frame.
    pub fn frame(&mut self, offset: i64) -> Term {
        self.sum(offset as u64, smallvec![(FRAME, 1)])
    }

    pub fn most(&self, term: Term) -> u64 {
        self.facts[term as usize].most
    }

    pub fn is_of_frame(&self, term: Term) -> bool {
        self.facts[term as usize].is_of_frame
    }

    /// Records that a version has loaded a term.
    pub fn note_load(&mut self, term: Term, is_new: bool) {
        self.facts[term as usize].loaded |= 1 << u8::from(is_new);
    }

    /// Returns a term that only the new version has loaded.
    pub fn first_unmatched_load(&self) -> Option<Term> {
        self.facts.iter().position(|facts| facts.loaded == 2).map(|at| at as Term)
    }

    fn parts(&self, term: Term) -> (u64, Parts) {
        match &self.nodes[term as usize] {
            Node::Sum(number, parts) => (*number, parts.clone()),
            _ => (0, smallvec![(term, 1)]),
        }
    }

    fn sum(&mut self, number: u64, parts: Parts) -> Term {
        if number == 0 && parts.len() == 1 && parts[0].1 == 1 {
            return parts[0].0;
        }
        let (most, is_whole) = if parts.is_empty() { (number, true) } else { (u64::MAX, false) };
        let node = Node::Sum(number, parts);
        self.intern(node.clone(), |terms| {
            let Node::Sum(_, parts) = &node else { unreachable!("it is a sum") };
            let is_of_frame = !is_whole && parts.iter().any(|&(part, _)| terms.is_of_frame(part));
            Facts { most, is_of_frame, loaded: 0 }
        })
    }

    /// Returns the first term plus `factor` times the second.
    pub fn add_scaled(&mut self, a: Term, b: Term, factor: u64) -> Term {
        let ((mut number, mut parts), (other, more)) = (self.parts(a), self.parts(b));
        number = number.wrapping_add(other.wrapping_mul(factor));
        for (term, times) in more {
            let times = times.wrapping_mul(factor);
            match parts.binary_search_by_key(&term, |&(term, _)| term) {
                Ok(at) => parts[at].1 = parts[at].1.wrapping_add(times),
                Err(at) => parts.insert(at, (term, times)),
            }
        }
        parts.retain(|(_, times)| *times != 0);
        self.sum(number, parts)
    }

    pub fn add(&mut self, a: Term, b: Term) -> Term {
        self.add_scaled(a, b, 1)
    }

    pub fn add_constant(&mut self, a: Term, number: u64) -> Term {
        let number = self.constant(number);
        self.add(a, number)
    }

    pub fn scaled(&mut self, a: Term, factor: u64) -> Term {
        let zero = self.constant(0);
        self.add_scaled(zero, a, factor)
    }

    /// Returns the only place in the code that is part of a sum, and the sum without it.
    pub fn split_place(&mut self, term: Term) -> Option<(u32, Term)> {
        let (number, mut parts) = self.parts(term);
        let at = parts.iter().position(|&(part, times)| times == 1 && self.place(part).is_some())?;
        let place = self.place(parts[at].0)?;
        parts.remove(at);
        Some((place, self.sum(number, parts)))
    }

    fn place(&self, term: Term) -> Option<u32> {
        match self.nodes[term as usize] {
            Node::Apply(Op::Place { place, .. }, _) => Some(place),
            _ => None,
        }
    }

    /// Returns the jump table of an entry, and the distance of the entry in it.
    pub fn as_entry(&self, term: Term) -> Option<(u32, Term)> {
        match &self.nodes[term as usize] {
            Node::Apply(Op::Entry { table, .. }, args) => Some((*table, args[0])),
            _ => None,
        }
    }

    /// Divides a term that is a multiple of `by`.
    pub fn divided(&mut self, term: Term, by: u64) -> Option<Term> {
        let (number, mut parts) = self.parts(term);
        let is_multiple = number % by == 0 && parts.iter().all(|(_, times)| times % by == 0);
        parts.iter_mut().for_each(|(_, times)| *times /= by);
        is_multiple.then(|| self.sum(number / by, parts))
    }

    /// Returns the operand and the bound of a minimum.
    pub fn as_at_most(&self, term: Term) -> Option<(Term, u64)> {
        match &self.nodes[term as usize] {
            Node::Apply(Op::AtMost(most), args) => Some((args[0], *most)),
            _ => None,
        }
    }

    /// Returns the operation and the operands of a term.
    pub fn as_apply(&self, term: Term) -> Option<(Op, &[Term])> {
        match &self.nodes[term as usize] {
            Node::Apply(op, args) => Some((*op, args)),
            _ => None,
        }
    }

    /// Returns the operands of a term.
    pub fn operands(&self, term: Term) -> Args {
        match &self.nodes[term as usize] {
            Node::Symbol(_) => Args::new(),
            Node::Sum(_, parts) => parts.iter().map(|&(part, _)| part).collect(),
            Node::Apply(_, args) => args.clone(),
        }
    }

    pub fn apply(&mut self, op: Op, args: &[Term]) -> Term {
        let most = match op {
            Op::Low(bits) => mask(bits),
            Op::Load(bytes @ 1..=4) => mask(8 * bytes as u8),
            Op::AtMost(most) => most,
            Op::Condition(_) => 1,
            Op::Masked(mask) => mask,
            Op::ShiftedRight { by, is_signed: false } => u64::MAX >> by,
            Op::Select => args[1..].iter().map(|&arg| self.most(arg)).max().unwrap_or(u64::MAX),
            // The result has no bits above the highest bit of its operands.
            Op::Bitwise(_) => {
                let bits = args.iter().map(|&arg| 64 - self.most(arg).leading_zeros()).max().unwrap_or(0);
                u64::MAX.checked_shr(64 - bits).unwrap_or(0)
            }
            _ => u64::MAX,
        };
        let is_of_frame = match op {
            // The memory knows whether a loaded value belongs to the frame.
            Op::Load(_) | Op::Left { .. } | Op::Condition(_) => false,
            Op::FlagsOfDifference(_) | Op::FlagsOfResult(_) => false,
            Op::FlagsOfSum(_) | Op::FlagsOfCount => false,
            _ => args.iter().any(|&arg| self.is_of_frame(arg)),
        };
        let mut args = Args::from_slice(args);
        if matches!(op, Op::Bitwise(_)) {
            // They commute.
            args.sort_unstable();
        }
        let node = Node::Apply(op, args);
        self.intern(node, |_| Facts { most, is_of_frame, loaded: 0 })
    }

    /// Applies an operation whose result may be an address in the frame although no operand is.
    pub fn apply_of_frame(&mut self, op: Op, args: &[Term], is_of_frame: bool) -> Term {
        let term = self.apply(op, args);
        self.facts[term as usize].is_of_frame |= is_of_frame;
        term
    }

    /// Returns the lowest bits of a term, zero-extended.
    pub fn low(&mut self, bits: u8, term: Term) -> Term {
        if bits == 64 || self.most(term) <= mask(bits) {
            return term;
        }
        if let Some(number) = self.as_constant(term) {
            return self.constant(number & mask(bits));
        }
        if let Some(whole) = self.without_high_bits(bits, term) {
            return self.low(bits, whole);
        }
        match self.as_apply(term) {
            // A part of the result only depends on the same parts of the operands.
            Some((op @ Op::Bitwise(_), &[a, b])) => {
                let parts = [a, b].map(|operand| self.low(bits, operand));
                self.apply(op, &parts)
            }
            Some((Op::Low(more), &[inner])) => self.low(bits.min(more), inner),
            Some((Op::SignExtend(more), &[inner])) if bits <= more => self.low(bits, inner),
            Some((Op::Masked(number), &[inner])) => {
                let inner = self.low(bits, inner);
                self.masked(inner, number & mask(bits))
            }
            Some((Op::Insert { bits: inserted, from: 0 }, &[_, inner])) if inserted >= bits => {
                self.low(bits, inner)
            }
            _ => self.apply(Op::Low(bits), &[term]),
        }
    }

    /// Returns a sum with the same lowest bits that has no extensions of as many or more bits among its terms; `None` if
    /// it is no sum, or has none.
    fn without_high_bits(&mut self, bits: u8, term: Term) -> Option<Term> {
        let Node::Sum(number, parts) = &self.nodes[term as usize] else { return None };
        let (number, parts) = (*number, parts.clone());
        let mut sum = self.constant(number & mask(bits));
        for (part, times) in parts {
            let part = match self.as_apply(part) {
                Some((Op::Low(more) | Op::SignExtend(more), &[inner])) if more >= bits => inner,
                _ => part,
            };
            sum = self.add_scaled(sum, part, times);
        }
        let (number, parts) = self.parts(sum);
        let sum = self.sum(number & mask(bits), parts);
        (sum != term).then_some(sum)
    }

    /// Returns a term masked by a number.
    pub fn masked(&mut self, term: Term, number: u64) -> Term {
        let all = u64::MAX.checked_shr(self.most(term).leading_zeros()).unwrap_or(0);
        let number = number & all;
        match (self.as_constant(term), self.as_apply(term)) {
            (Some(constant), _) => self.constant(constant & number),
            _ if number == all => term,
            _ if number == 0 => self.constant(0),
            _ if number & (number + 1) == 0 => self.low(number.count_ones() as u8, term),
            (_, Some((Op::Masked(other), &[inner]))) => self.masked(inner, number & other),
            _ => self.apply(Op::Masked(number), &[term]),
        }
    }

    /// Returns a term shifted to the right by less than 64 bits; with copies of its sign if it `is_signed`.
    pub fn shifted_right(&mut self, term: Term, by: u8, is_signed: bool) -> Term {
        debug_assert!(by < 64);
        match (self.as_constant(term), self.as_apply(term)) {
            _ if by == 0 => term,
            (Some(number), _) if is_signed => self.constant((number as i64 >> by) as u64),
            (Some(number), _) => self.constant(number >> by),
            (_, Some((Op::ShiftedRight { by: first, is_signed: sign }, &[inner]))) if sign == is_signed => {
                match first + by {
                    by @ 0..64 => self.shifted_right(inner, by, is_signed),
                    _ if is_signed => self.shifted_right(inner, 63, true),
                    _ => self.constant(0),
                }
            }
            _ => self.apply(Op::ShiftedRight { by, is_signed }, &[term]),
        }
    }

    pub fn sign_extended(&mut self, bits: u8, term: Term) -> Term {
        // A value with that many copies of its sign is already sign-extended.
        if let Some((Op::Low(low), &[inner])) = self.as_apply(term)
            && let Some((Op::ShiftedRight { by, is_signed: true }, _)) = self.as_apply(inner)
            && low == bits
            && by >= 64 - bits
        {
            return inner;
        }
        let term = self.low(bits, term);
        match self.as_constant(term) {
            Some(number) => {
                let unused = 64 - u32::from(bits);
                self.constant(((number << unused) as i64 >> unused) as u64)
            }
            None => self.apply(Op::SignExtend(bits), &[term]),
        }
    }

    /// Returns a term as text, down to some depth.
    pub fn show(&self, term: Term) -> String {
        let mut text = String::new();
        self.write(term, 5, &mut text);
        text
    }

    fn write(&self, term: Term, depth: u32, to: &mut String) {
        let _ = match &self.nodes[term as usize] {
            Node::Symbol(0) => write!(to, "frame"),
            Node::Symbol(number) => write!(to, "v{number}"),
            _ if depth == 0 => write!(to, "t{term}"),
            Node::Sum(number, parts) => {
                for (part, times) in parts {
                    let _ = if *times == 1 { Ok(()) } else { write!(to, "{}*", *times as i64) };
                    self.write(*part, depth - 1, to);
                    to.push_str(" + ");
                }
                write!(to, "{:#x}", *number as i64)
            }
            Node::Apply(op, args) => {
                let _ = write!(to, "{op:?}(");
                for (at, arg) in args.iter().enumerate() {
                    to.push_str(if at == 0 { "" } else { ", " });
                    self.write(*arg, depth - 1, to);
                }
                write!(to, ")")
            }
        };
    }
}

/// Returns the mask of the lowest bits.
pub(crate) fn mask(bits: u8) -> u64 {
    u64::MAX >> (64 - u32::from(bits))
}
