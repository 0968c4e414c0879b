//! The packing of a loop's rounds: scalars of several rounds become lanes of vectors.
//!
//! Input: a [`Round`] and its [`Accesses`]. Output: a [`Window`]: the vectors that so many rounds store, and what they
//! are made of. A **window** is a number of consecutive rounds whose stores fill vectors. A vector packs *lanes*, each a
//! value of one round of the window; lanes are packed if they are the same value from outside the loop, loads of bytes
//! that follow each other, or results of the same instruction on operands that are packed in turn. So loops that a
//! compiler has unrolled are vectorised like others, with a window of fewer rounds.
//! Theory: in a window, loads come before stores. That is as before unless a round, or a later one of the window, loads
//! what an earlier store of it writes, or two stores write the same bytes; both is excluded, within a class by its
//! constants, between classes by the guard. Windows follow each other as rounds do.
//! Source: Larsen & Amarasinghe, *Exploiting Superword Level Parallelism with Multimedia Instruction Sets*, PLDI 2000.
//! Their packs begin with neighbouring loads; ours with stores, so that all of a round is packed or nothing is.
//! Example: `a[i] = a[i] + b[i]; a[i + 1] = a[i + 1] + b[i + 1]; i += 2` with doubles has a window of one round, `a[i..i
//! + 2] = a[i..i + 2] + b[i..i + 2]`.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{Function, InstructionData, Opcode, Type, Value, types};
use hashbrown::HashMap;

use super::super::constants::integer;
use super::access::{Access, Accesses};
use super::round::Round;
use crate::code::NoVectors as Refusal;

/// The size of a vector in bytes.
pub(super) const BYTES: i64 = 16;
/// The maximum numbers of rounds in a window, of accesses in all of them, and of vectors.
const MOST_ROUNDS: u32 = 16;
const MOST_ACCESSES: usize = 512;
const MOST_VECTORS: usize = 128;

/// A value of a round of the window.
type Lane = (Value, u32);

/// A vector, by its place in [`Window::vectors`].
pub(super) type Id = usize;

/// The computation of a vector.
#[derive(Clone, Copy, Debug)]
pub(super) enum Made {
    /// A value from outside the loop in each lane, of which the lanes hold the lower part.
    Splat(Value),
    /// One loaded scalar in each lane: the access, by its place in [`Accesses::all`], and its distance from the address
    /// of the access's class in the window's first round.
    SplatLoad(usize, i64),
    /// A loaded vector, with the same fields.
    Load(usize, i64),
    Unary(Opcode, Id),
    Binary(Opcode, Id, Id),
    /// A shift by a constant.
    Shift(Opcode, Id, i64),
    IntCompare(IntCC, Id, Id),
    FloatCompare(FloatCC, Id, Id),
    /// A selection of lanes by a comparison.
    Select(Id, Id, Id),
}

/// A vector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vector {
    pub made: Made,
    pub ty: Type,
    /// Whether it is the same in all rounds.
    pub is_invariant: bool,
}

/// A vector that is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    /// The access of the first lane.
    pub access: usize,
    /// The distance from the address of the access's class in the window's first round.
    pub at: i64,
    pub vector: Id,
}

/// The vectors that a window computes and stores.
pub(super) struct Window {
    /// The number of rounds: a power of two.
    pub rounds: u32,
    /// The number of lanes in a vector.
    pub lanes: u32,
    pub vectors: Vec<Vector>,
    pub stores: Vec<Stored>,
}

impl Window {
    /// Packs the rounds of a loop.
    pub(super) fn new(func: &Function, round: &Round, accesses: &Accesses) -> Result<Window, Refusal> {
        let stores = accesses.all.iter().filter(|access| access.stored.is_some());
        let mut sizes = stores.map(|access| access.size);
        let size = sizes.next().ok_or(Refusal::Nothing)?;
        if sizes.any(|other| other != size) {
            return Err(Refusal::Lanes);
        }
        let lanes = (BYTES / size) as u32;
        let windows = (0..).map(|power| 1 << power).take_while(|&rounds| rounds <= MOST_ROUNDS.min(lanes));
        let found = windows.into_iter().find_map(|rounds| Some((rounds, runs(accesses, rounds, lanes)?)));
        let (rounds, runs) = found.ok_or(Refusal::Strides)?;
        if depends(accesses, rounds)? {
            return Err(Refusal::Dependence);
        }
        let packer = Packer {
            func,
            round,
            accesses,
            bits: 8 * size as u32,
            lanes,
            known: HashMap::new(),
            vectors: Vec::new(),
        };
        packer.window(rounds, &runs)
    }
}

/// A store of a round of the window: its distance from its class's address in the window's first round, its access, and
/// the round.
type Place = (i64, usize, u32);

/// Divides the stores of a window into runs of stores that fill a vector; `None` if that is not possible.
fn runs(accesses: &Accesses, rounds: u32, lanes: u32) -> Option<Vec<Vec<Place>>> {
    let mut all = Vec::new();
    for class in 0..accesses.classes.len() {
        let mut places: Vec<Place> = Vec::new();
        for (access, index) in accesses.all.iter().zip(0..).filter(|(access, _)| access.class == class) {
            if access.stored.is_some() {
                places.extend((0..rounds).map(|round| (access.at_in(accesses, round), index, round)));
            }
        }
        places.sort_unstable();
        for run in places.chunks(lanes as usize) {
            let follows = |pair: &[Place]| pair[0].0 + BYTES / i64::from(lanes) == pair[1].0;
            if run.len() < lanes as usize || !run.windows(2).all(follows) {
                return None;
            }
            all.push(run.to_vec());
        }
    }
    Some(all)
}

impl Access {
    /// Returns the distance of the access in a round of a window from its class's address in the window's first round.
    fn at_in(&self, accesses: &Accesses, round: u32) -> i64 {
        self.at + i64::from(round) * accesses.classes[self.class].stride
    }
}

/// Reports whether the accesses of a class depend on each other within a window: a load reads bytes that an earlier
/// store writes, or two stores write the same bytes.
fn depends(accesses: &Accesses, rounds: u32) -> Result<bool, Refusal> {
    let mut written: Vec<(usize, i64, i64)> = Vec::new();
    if accesses.all.len() * rounds as usize > MOST_ACCESSES {
        return Err(Refusal::TooLarge);
    }
    for round in 0..rounds {
        for access in &accesses.all {
            let (from, class) = (access.at_in(accesses, round), access.class);
            let to = from + access.size;
            if written.iter().any(|&(other, start, end)| other == class && from < end && start < to) {
                return Ok(true);
            }
            if access.stored.is_some() {
                written.push((class, from, to));
            }
        }
    }
    Ok(false)
}

struct Packer<'a> {
    func: &'a Function,
    round: &'a Round,
    accesses: &'a Accesses,
    /// The size of a lane.
    bits: u32,
    lanes: u32,
    known: HashMap<Vec<Lane>, Id>,
    vectors: Vec<Vector>,
}

impl Packer<'_> {
    fn window(mut self, rounds: u32, runs: &[Vec<Place>]) -> Result<Window, Refusal> {
        let mut stores = Vec::new();
        for run in runs {
            let value = |access: usize| self.accesses.all[access].stored.expect("it is a store");
            let lanes: Vec<Lane> = run.iter().map(|&(_, access, round)| (value(access), round)).collect();
            let (at, access, _) = run[0];
            stores.push(Stored { access, at, vector: self.pack(&lanes)? });
        }
        Ok(Window { rounds, lanes: self.lanes, vectors: self.vectors, stores })
    }

    fn pack(&mut self, lanes: &[Lane]) -> Result<Id, Refusal> {
        if let Some(&known) = self.known.get(lanes) {
            return Ok(known);
        }
        let first = lanes[0].0;
        let ty = self.func.dfg.value_type(first);
        if ty.is_vector() || ty.bits() < self.bits || ty.is_float() && ty.bits() != self.bits {
            return Err(Refusal::Lanes);
        }
        let made = match self.is_same(lanes) {
            true => Made::Splat(first),
            false => self.packed(lanes)?,
        };
        let id = match made {
            // A conversion that does not change the lower part.
            Made::Unary(Opcode::Nop, id) => id,
            made => self.add(made, first)?,
        };
        self.known.insert(lanes.to_vec(), id);
        Ok(id)
    }

    fn add(&mut self, made: Made, first: Value) -> Result<Id, Refusal> {
        if self.vectors.len() == MOST_VECTORS {
            return Err(Refusal::TooLarge);
        }
        let is_invariant = |id: Id| self.vectors[id].is_invariant;
        let is_invariant = match made {
            Made::Splat(_) => true,
            Made::SplatLoad(access, _) => self.accesses.is_kept(access),
            Made::Load(..) => false,
            Made::Unary(_, a) | Made::Shift(_, a, _) => is_invariant(a),
            Made::Binary(_, a, b) | Made::IntCompare(_, a, b) | Made::FloatCompare(_, a, b) => {
                is_invariant(a) && is_invariant(b)
            }
            Made::Select(a, b, c) => is_invariant(a) && is_invariant(b) && is_invariant(c),
        };
        let ty = match made {
            Made::IntCompare(..) | Made::FloatCompare(..) => self.integers(),
            _ => self.type_of(first),
        };
        self.vectors.push(Vector { made, ty, is_invariant });
        Ok(self.vectors.len() - 1)
    }

    /// Returns the type of vectors of a value, or of its lower part.
    fn type_of(&self, value: Value) -> Type {
        match self.func.dfg.value_type(value) {
            ty if ty.is_float() => ty.by(self.lanes).expect("there are such vectors"),
            _ => self.integers(),
        }
    }

    fn integers(&self) -> Type {
        let lane = Type::int(self.bits as u16).expect("the size of an access");
        lane.by(self.lanes).expect("there are such vectors")
    }

    /// Reports whether all lanes are the same value from outside the loop.
    fn is_same(&self, lanes: &[Lane]) -> bool {
        let first = lanes[0].0;
        let constant = integer(self.func, first);
        self.round.is_invariant(first)
            && lanes.iter().all(|&(value, _)| {
                value == first || constant.is_some() && integer(self.func, value) == constant
            })
    }

    /// Packs the results of the same instruction.
    fn packed(&mut self, lanes: &[Lane]) -> Result<Made, Refusal> {
        let first = lanes[0].0;
        let data = self.data(first).ok_or(Refusal::Lanes)?;
        let is_alike = |&(value, _): &Lane| {
            let types = [first, value].map(|value| self.func.dfg.value_type(value));
            types[0] == types[1] && self.data(value).is_some_and(|other| other.opcode() == data.opcode())
        };
        if !lanes.iter().all(is_alike) {
            return Err(Refusal::Lanes);
        }
        match data {
            InstructionData::Load { .. } => self.loads(lanes),
            InstructionData::Unary { opcode, arg } => self.unary(opcode, arg, lanes),
            InstructionData::Binary { opcode, .. } => self.binary(opcode, lanes),
            InstructionData::Ternary { opcode: Opcode::Select, .. } => self.select(lanes),
            _ => Err(Refusal::Instruction),
        }
    }

    /// Returns the instruction of the round that makes a value.
    fn data(&self, value: Value) -> Option<InstructionData> {
        let inst = self.func.dfg.value_def(value).inst().filter(|_| self.round.is_made_in(value))?;
        Some(self.func.dfg.insts[inst])
    }

    /// Packs an operand of the lanes' instructions.
    fn operand(&mut self, lanes: &[Lane], number: usize) -> Result<Id, Refusal> {
        let operand = |&(value, round): &Lane| {
            let inst = self.func.dfg.value_def(value).inst().expect("it is made by one");
            (self.func.dfg.inst_args(inst)[number], round)
        };
        let operands: Vec<Lane> = lanes.iter().map(operand).collect();
        self.pack(&operands)
    }

    fn loads(&mut self, lanes: &[Lane]) -> Result<Made, Refusal> {
        let place = |&(value, round): &Lane| {
            let inst = self.func.dfg.value_def(value).inst();
            let index = self.accesses.all.iter().position(|access| Some(access.inst) == inst)?;
            let access = &self.accesses.all[index];
            Some((index, access.class, access.at_in(self.accesses, round), access.size))
        };
        let places: Option<Vec<_>> = lanes.iter().map(place).collect();
        let places = places.ok_or(Refusal::Lanes)?;
        let (index, class, at, size) = places[0];
        let is_alike = |&(_, other, _, bytes): &(usize, usize, i64, i64)| other == class && bytes == size;
        if 8 * size != i64::from(self.bits) || !places.iter().all(is_alike) {
            return Err(Refusal::Lanes);
        }
        if places.iter().all(|place| place.2 == at) {
            return Ok(Made::SplatLoad(index, at));
        }
        match places.windows(2).all(|pair| pair[0].2 + size == pair[1].2) {
            true => Ok(Made::Load(index, at)),
            false => Err(Refusal::Strides),
        }
    }

    fn unary(&mut self, opcode: Opcode, arg: Value, lanes: &[Lane]) -> Result<Made, Refusal> {
        let of = self.func.dfg.value_type(arg);
        let is_whole = self.is_whole(lanes[0].0);
        let is_possible = match opcode {
            Opcode::Uextend | Opcode::Sextend if of.bits() >= self.bits => {
                return Ok(Made::Unary(Opcode::Nop, self.operand(lanes, 0)?));
            }
            Opcode::Ireduce => return Ok(Made::Unary(Opcode::Nop, self.operand(lanes, 0)?)),
            Opcode::Ineg | Opcode::Bnot => true,
            Opcode::Fneg | Opcode::Fabs | Opcode::Sqrt => true,
            Opcode::Ceil | Opcode::Floor | Opcode::Trunc | Opcode::Nearest => true,
            Opcode::FcvtFromSint => of == types::I32 && is_whole && self.bits == 32,
            _ => false,
        };
        if !is_possible {
            return Err(Refusal::Instruction);
        }
        Ok(Made::Unary(opcode, self.operand(lanes, 0)?))
    }

    fn binary(&mut self, opcode: Opcode, lanes: &[Lane]) -> Result<Made, Refusal> {
        let is_whole = self.is_whole(lanes[0].0);
        let is_possible = match opcode {
            Opcode::Iadd | Opcode::Isub | Opcode::Band | Opcode::Bor | Opcode::Bxor => true,
            Opcode::Imul => matches!(self.bits, 16 | 32),
            Opcode::Smin | Opcode::Smax | Opcode::Umin | Opcode::Umax => is_whole && self.bits < 64,
            // Not the least and the greatest: of NaNs vectors make others than scalars do.
            Opcode::Fadd | Opcode::Fsub | Opcode::Fmul | Opcode::Fdiv => true,
            Opcode::Ishl | Opcode::Ushr | Opcode::Sshr => return self.shift(opcode, lanes),
            _ => false,
        };
        if !is_possible {
            return Err(Refusal::Instruction);
        }
        let (a, b) = (self.operand(lanes, 0)?, self.operand(lanes, 1)?);
        Ok(Made::Binary(opcode, a, b))
    }

    /// Packs shifts by the same constant. A shift to the right needs all bits of what it shifts.
    fn shift(&mut self, opcode: Opcode, lanes: &[Lane]) -> Result<Made, Refusal> {
        let ty = self.func.dfg.value_type(lanes[0].0);
        let by = |&(value, _): &Lane| {
            let inst = self.func.dfg.value_def(value).inst()?;
            Some(integer(self.func, self.func.dfg.inst_args(inst)[1])? & i64::from(ty.bits() - 1))
        };
        let amount = by(&lanes[0]).ok_or(Refusal::Instruction)?;
        if lanes.iter().any(|lane| by(lane) != Some(amount)) || amount >= i64::from(self.bits) {
            return Err(Refusal::Instruction);
        }
        let keeps = match opcode {
            Opcode::Ishl => true,
            _ if self.is_whole(lanes[0].0) => true,
            _ => lanes.iter().all(|&(value, _)| self.is_shifted_extension(value, opcode == Opcode::Sshr)),
        };
        let has_it = self.bits < 64 || opcode != Opcode::Sshr;
        if !keeps || !has_it {
            return Err(Refusal::Instruction);
        }
        Ok(Made::Shift(opcode, self.operand(lanes, 0)?, amount))
    }

    fn select(&mut self, lanes: &[Lane]) -> Result<Made, Refusal> {
        let conditions: Vec<Lane> = lanes
            .iter()
            .map(|&(value, round)| {
                let inst = self.func.dfg.value_def(value).inst().expect("it is made by one");
                (self.func.dfg.inst_args(inst)[0], round)
            })
            .collect();
        let condition = self.compare(&conditions)?;
        let (a, b) = (self.operand(lanes, 1)?, self.operand(lanes, 2)?);
        Ok(Made::Select(condition, a, b))
    }

    /// Packs comparisons of values as large as lanes.
    fn compare(&mut self, lanes: &[Lane]) -> Result<Id, Refusal> {
        let first = self.data(lanes[0].0).ok_or(Refusal::Lanes)?;
        let is_alike = |&(value, _): &Lane| match (first, self.data(value)) {
            (
                InstructionData::IntCompare { cond, .. },
                Some(InstructionData::IntCompare { cond: other, .. }),
            ) => cond == other,
            (
                InstructionData::FloatCompare { cond, .. },
                Some(InstructionData::FloatCompare { cond: other, .. }),
            ) => cond == other,
            _ => false,
        };
        let is_whole = |&(value, _): &Lane| match self.data(value) {
            Some(InstructionData::IntCompare { args, .. } | InstructionData::FloatCompare { args, .. }) => {
                self.is_whole(args[0])
            }
            _ => false,
        };
        if !lanes.iter().all(is_alike) || !lanes.iter().all(is_whole) {
            return Err(Refusal::Lanes);
        }
        let (a, b) = (self.operand(lanes, 0)?, self.operand(lanes, 1)?);
        let made = match first {
            InstructionData::IntCompare { cond, .. } => Made::IntCompare(cond, a, b),
            InstructionData::FloatCompare { cond, .. } if is_for_vectors(cond) => {
                Made::FloatCompare(cond, a, b)
            }
            _ => return Err(Refusal::Lanes),
        };
        self.add(made, lanes[0].0)
    }

    /// Reports whether a lane holds all bits of a value.
    fn is_whole(&self, value: Value) -> bool {
        self.func.dfg.value_type(value).bits() == self.bits
    }

    /// Reports whether a shift shifts an extension of as many bits as a lane has.
    fn is_shifted_extension(&self, value: Value, is_signed: bool) -> bool {
        match self.data(value) {
            Some(InstructionData::Binary { args, .. }) => self.is_extended(args[0], is_signed),
            _ => false,
        }
    }

    fn is_extended(&self, value: Value, is_signed: bool) -> bool {
        match (self.data(value), is_signed, self.bits) {
            (Some(InstructionData::Unary { opcode: Opcode::Uextend, arg }), false, bits)
            | (Some(InstructionData::Unary { opcode: Opcode::Sextend, arg }), true, bits) => {
                self.func.dfg.value_type(arg).bits() == bits
            }
            (Some(InstructionData::Load { opcode, .. }), ..) => matches!(
                (opcode, is_signed, self.bits),
                (Opcode::Uload8, false, 8)
                    | (Opcode::Sload8, true, 8)
                    | (Opcode::Uload16, false, 16)
                    | (Opcode::Sload16, true, 16)
                    | (Opcode::Uload32, false, 32)
                    | (Opcode::Sload32, true, 32)
            ),
            _ => false,
        }
    }
}

/// Reports whether vectors can be compared like this.
fn is_for_vectors(condition: FloatCC) -> bool {
    !matches!(condition, FloatCC::OrderedNotEqual | FloatCC::UnorderedOrEqual)
}
