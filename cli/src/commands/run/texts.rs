//! Texts and files as arguments of a core module's function: they are written into memory that the module's allocator
//! provides.
//!
//! Input: arguments, each of which is a number, a text in quotation marks, or `@` and a file. Output: the values of the
//! function's parameters. Which convention is meant follows from their number: an address and a length for each text, or,
//! if there is one parameter for each argument, the address of a text that ends with a zero, as in C.

use std::fmt;

use anyhow::{Context, Result, bail, ensure};
use wprof::wasi::WasiCtx;
use wprof::{ExternType, FuncType, Instance, Store, Val, ValType};

use crate::wave;

/// An argument, as it is given.
pub enum Given<'a> {
    /// A number, in the form of the parameter's type.
    Number(&'a str),
    /// A text, or what is in a file.
    Bytes(Vec<u8>),
}

/// The parameters of an allocator, in this order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Size,
    Align,
    /// Zero, for the old block and its size.
    Zero,
}

use Takes::{Align, Size, Zero};

/// The names of allocators, and what they take: the first that a module exports is used.
const ALLOCATORS: [(&str, &[Takes]); 9] = [
    ("__wbindgen_malloc", &[Size, Align]),
    ("__wbindgen_malloc", &[Size]),
    ("cabi_realloc", &[Zero, Zero, Align, Size]),
    ("malloc", &[Size]),
    ("_malloc", &[Size]),
    ("alloc", &[Size]),
    ("alloc", &[Size, Align]),
    ("allocate", &[Size]),
    ("allocate", &[Size, Align]),
];

/// The values of parameters, and how texts among them are passed.
type Passed = (Vec<Val>, Option<String>);

/// The convention by which a module takes texts.
struct Convention {
    allocator: &'static str,
    takes: &'static [Takes],
    /// The type of addresses and lengths.
    ty: ValType,
    /// Whether a text ends with a zero, and has no length.
    ends_with_zero: bool,
}

impl fmt::Display for Convention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how =
            if self.ends_with_zero { "its address, with a zero behind it" } else { "its address and length" };
        write!(f, "each text is passed by {how}, in memory from `{}`", self.allocator)
    }
}

impl<'a> Given<'a> {
    /// # Errors
    /// Returns an error if a text is not closed, or a file cannot be read.
    pub fn new(text: &'a str) -> Result<Given<'a>> {
        if text.starts_with('"') {
            return wave::text(text).map(|text| Given::Bytes(text.into_bytes()));
        }
        match text.strip_prefix('@') {
            Some(path) => {
                let bytes = std::fs::read(path).with_context(|| format!("cannot read {path}"))?;
                ensure!(i32::try_from(bytes.len()).is_ok(), "{path} is too long: give at most 2 GiB");
                Ok(Given::Bytes(bytes))
            }
            None => Ok(Given::Number(text)),
        }
    }

    fn is_bytes(&self) -> bool {
        matches!(self, Given::Bytes(_))
    }
}

/// Returns the values of a function's parameters, and says how texts are passed, if there are any.
///
/// # Errors
/// Returns an error if the arguments do not fit the function, or its module exports no allocator that is known. The inner
/// error is the allocator's.
pub fn passed(
    (store, instance): (&mut Store<WasiCtx>, Instance),
    (name, ty): (&str, &FuncType),
    given: &[Given<'_>],
    number: impl Fn(ValType, &str) -> Result<Val>,
) -> Result<Result<Passed, wprof::Error>> {
    let texts = given.iter().filter(|given| given.is_bytes()).count();
    let wanted = ty.params().len();
    let ends_with_zero = texts > 0 && wanted == given.len();
    if !ends_with_zero && wanted != given.len() + texts {
        let of_texts = if texts == 0 { "" } else { ", or one less for each text with a length" };
        bail!("`{name}` is {ty}: give {wanted} arguments, not {}{of_texts}", given.len());
    }
    let convention = match texts {
        0 => None,
        _ => Some(convention((store, instance), (name, ty), given, ends_with_zero)?),
    };
    let (mut values, mut types) = (Vec::new(), ty.params());
    for given in given {
        let ty = types.next().context("the function has fewer parameters")?;
        match (given, &convention) {
            (Given::Number(text), _) => {
                values.push(number(ty, text).with_context(|| format!("argument `{text}`"))?);
            }
            (Given::Bytes(bytes), Some(convention)) => {
                match convention.write((&mut *store, instance), bytes)? {
                    Ok(at) => values.extend(convention.values(at, bytes.len())),
                    Err(error) => return Ok(Err(error)),
                }
                // The length's.
                let _ = if ends_with_zero { None } else { types.next() };
            }
            (Given::Bytes(_), None) => unreachable!("texts have a convention"),
        }
    }
    Ok(Ok((values, convention.map(|convention| convention.to_string()))))
}

/// Finds how a module takes texts.
///
/// # Errors
/// Returns an error if it exports no allocator that is known, or the function takes no addresses.
fn convention(
    (store, instance): (&mut Store<WasiCtx>, Instance),
    (name, ty): (&str, &FuncType),
    given: &[Given<'_>],
    ends_with_zero: bool,
) -> Result<Convention> {
    let found = ALLOCATORS.iter().find_map(|&(allocator, takes)| {
        let ty = instance.get_func(&mut *store, allocator)?.ty(&*store);
        is_allocator(&ty, takes).map(|ty| Convention { allocator, takes, ty, ends_with_zero })
    });
    let Some(convention) = found else {
        let mut all: Vec<&str> = ALLOCATORS.iter().map(|(name, _)| *name).collect();
        all.dedup();
        bail!(
            "`{name}` is {ty}, and the module exports no allocator for texts and files, such as {}: a small host in Rust puts \
             them into its memory by `wprof::Memory::write`, and calls the function",
            all.join(", ")
        );
    };
    let mut types = ty.params();
    for given in given {
        let count = if given.is_bytes() && !ends_with_zero { 2 } else { 1 };
        for ty in types.by_ref().take(count) {
            ensure!(
                !given.is_bytes() || ty == convention.ty,
                "`{name}` has a parameter {ty} where the address or length of a text should be {}",
                convention.ty
            );
        }
    }
    Ok(convention)
}

/// Returns the type of addresses, if a function can be an allocator that takes this.
fn is_allocator(ty: &FuncType, takes: &[Takes]) -> Option<ValType> {
    let address = ty.results().next().filter(|ty| matches!(ty, ValType::I32 | ValType::I64))?;
    let fits = ty.results().len() == 1 && ty.params().len() == takes.len();
    (fits && ty.params().all(|param| param == address)).then_some(address)
}

impl Convention {
    /// Writes bytes where the allocator has room for them; returns the address.
    ///
    /// # Errors
    /// Returns an error if there is no memory, or the allocator's address is outside of it. The inner error is the
    /// allocator's.
    fn write(
        &self,
        (store, instance): (&mut Store<WasiCtx>, Instance),
        bytes: &[u8],
    ) -> Result<Result<u64, wprof::Error>> {
        let size = bytes.len() + usize::from(self.ends_with_zero);
        let args: Vec<Val> = self.takes.iter().map(|takes| self.number(takes.argument(size))).collect();
        let allocator =
            instance.get_func(&mut *store, self.allocator).context("the allocator is exported")?;
        let mut result = [self.number(0)];
        if let Err(error) = allocator.call(&mut *store, &args, &mut result) {
            return Ok(Err(error));
        }
        let at = match result {
            [Val::I32(at)] => u64::from(at as u32),
            [Val::I64(at)] => at as u64,
            _ => bail!("`{}` returned no address", self.allocator),
        };
        ensure!(at != 0 || size == 0, "`{}` has no room for {size} bytes", self.allocator);
        let exports = instance.module(&*store).exports();
        let mut memories = exports.filter(|export| matches!(export.ty(), ExternType::Memory(_)));
        let name = memories.next().map(|export| export.name().to_owned());
        drop(memories);
        let memory = name.and_then(|name| instance.get_memory(&mut *store, &name));
        let memory = memory.context("the module exports no memory in which texts could be")?;
        let outside =
            || format!("`{}` returned {at:#x}, where {size} bytes are not in the memory", self.allocator);
        let address = usize::try_from(at).with_context(outside)?;
        let bytes = [bytes, &b"\0"[..usize::from(self.ends_with_zero)]].concat();
        memory.write(&mut *store, address, &bytes).map_err(|_| anyhow::Error::msg(outside()))?;
        Ok(Ok(at))
    }

    /// Returns the values that stand for a text.
    fn values(&self, at: u64, len: usize) -> impl Iterator<Item = Val> {
        let len = (!self.ends_with_zero).then(|| self.number(len as u64));
        [self.number(at)].into_iter().chain(len)
    }

    fn number(&self, value: u64) -> Val {
        if self.ty == ValType::I64 { Val::I64(value as i64) } else { Val::I32(value as i32) }
    }
}

impl Takes {
    /// Returns the argument for an allocation of `size` bytes.
    fn argument(self, size: usize) -> u64 {
        match self {
            Size => size as u64,
            Align => 1,
            Zero => 0,
        }
    }
}
