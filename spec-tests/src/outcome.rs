//! The state that a run of a module leaves, in terms that all engines share.

use std::collections::BTreeMap;

use wasmparser::ValType;

use crate::rng::Rng;

/// A value. References are represented by what every engine can observe of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// An i32.
    I32(i32),
    /// An i64.
    I64(i64),
    /// The bits of an f32.
    F32(u32),
    /// The bits of an f64.
    F64(u64),
    /// A v128.
    V128(u128),
    /// A reference other than a host value: whether it is not null.
    Func(bool),
    /// An externref: null, or a number assigned by us.
    Extern(Option<u32>),
}

impl Value {
    /// Returns a random value of a type.
    pub fn any(ty: ValType, rng: &mut Rng) -> Value {
        let integer = rng.integer();
        match ty {
            ValType::I32 => Value::I32(integer as i32),
            ValType::I64 => Value::I64(integer),
            ValType::F32 => Value::F32(rng.pick(&[integer as f32, f32::INFINITY, -0.0, 1.5e30]).to_bits()),
            ValType::F64 => Value::F64(rng.pick(&[integer as f64, f64::INFINITY, -0.0, 1.5e300]).to_bits()),
            ValType::V128 => Value::V128(u128::from(rng.word()) << 64 | integer as u64 as u128),
            ValType::Ref(r) if r.is_extern_ref() => {
                Value::Extern(rng.chance(70).then(|| rng.below(100) as u32))
            }
            ValType::Ref(_) => Value::Func(false),
        }
    }

    /// Canonicalises NaNs, because the engine chooses which NaN an operation yields.
    #[must_use]
    pub fn canonical(self) -> Value {
        match self {
            Value::F32(bits) if f32::from_bits(bits).is_nan() => Value::F32(f32::NAN.to_bits()),
            Value::F64(bits) if f64::from_bits(bits).is_nan() => Value::F64(f64::NAN.to_bits()),
            other => other,
        }
    }
}

/// The reason why wasm code stopped early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A trap.
    Trap(Trap),
    /// The host ended the program.
    Exit(i32),
    /// An exception that nothing caught.
    Uncaught,
    /// Anything else.
    Other(String),
}

/// Kinds of traps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the specification's names")]
pub enum Trap {
    Unreachable,
    MemoryOutOfBounds,
    TableOutOfBounds,
    NullFunction,
    BadSignature,
    DivisionByZero,
    IntegerOverflow,
    BadConversion,
    StackOverflow,
    NullReference,
    CastFailure,
    ArrayOutOfBounds,
    OutOfHeap,
    UnalignedAtomic,
}

/// The state of one export.
#[derive(Clone, PartialEq, Eq)]
pub enum State {
    /// The value of a global.
    Global(Value),
    /// The contents of a memory.
    Memory(Vec<u8>),
    /// The elements of a table.
    Table(Vec<Value>),
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            State::Global(value) => value.fmt(f),
            State::Memory(bytes) => write!(f, "a memory of {} bytes", bytes.len()),
            State::Table(elements) => write!(f, "a table {elements:?}"),
        }
    }
}

/// The state that a run leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The reason why there is no instance; then the other fields are empty.
    pub refused: Option<Stop>,
    /// The results of the calls, in order.
    pub calls: Vec<Result<Vec<Value>, Stop>>,
    /// The number of calls of host functions, and a hash of their arguments in order.
    pub host: (u64, u64),
    /// The state of exports, by name.
    pub exports: BTreeMap<String, State>,
}

impl Outcome {
    /// Checks that the run of another engine left the same state.
    ///
    /// # Errors
    /// Returns the first difference that it finds.
    pub fn same_as(&self, other: &Outcome) -> Result<(), String> {
        if let (Some(_), Some(_)) = (&self.refused, &other.refused) {
            return Ok(());
        }
        if self.refused != other.refused {
            return Err(format!("instantiation: {:?} or {:?}", self.refused, other.refused));
        }
        for (index, (a, b)) in self.calls.iter().zip(&other.calls).enumerate() {
            if a != b {
                return Err(format!("call {index}: {a:?} or {b:?}"));
            }
        }
        if self.host != other.host {
            return Err(format!("host calls: {:?} or {:?}", self.host, other.host));
        }
        for ((name, a), (_, b)) in self.exports.iter().zip(&other.exports) {
            if a != b {
                return Err(format!("export {name:?}: {}", difference(a, b)));
            }
        }
        if self == other { Ok(()) } else { Err("different numbers of calls or exports".into()) }
    }

    /// Returns the same without messages of errors, which each engine words differently.
    #[must_use]
    pub fn without_messages(&self) -> Outcome {
        let without = |stop: &Stop| match stop {
            Stop::Other(_) => Stop::Other(String::new()),
            stop => stop.clone(),
        };
        let calls = self.calls.iter().map(|call| call.clone().map_err(|stop| without(&stop)));
        Outcome { refused: self.refused.as_ref().map(without), calls: calls.collect(), ..self.clone() }
    }

    /// Returns the number of calls that stopped early.
    pub fn stopped(&self) -> usize {
        self.calls.iter().filter(|call| call.is_err()).count()
    }

    /// Reports whether some call ran out of stack or heap: engines differ in where this happens, and in everything
    /// after it.
    pub fn overflowed(&self) -> bool {
        let is_limit = |stop: &Stop| matches!(stop, Stop::Trap(Trap::StackOverflow | Trap::OutOfHeap));
        self.refused.iter().any(is_limit)
            || self.calls.iter().filter_map(|call| call.as_ref().err()).any(is_limit)
    }
}

fn difference(a: &State, b: &State) -> String {
    if let (State::Memory(a), State::Memory(b)) = (a, b)
        && let Some(place) = a.iter().zip(b).position(|(a, b)| a != b)
    {
        return format!("byte {place:#x} of the memory is {:#x} or {:#x}", a[place], b[place]);
    }
    format!("{a:?} or {b:?}")
}
