//! The host functions of generated modules. Their behaviour depends on their name, their arguments, and the number of
//! earlier calls. Each engine has its own glue code.

use wasmparser::ValType;

use crate::outcome::Value;
use crate::rng::{Rng, mix};

/// Name of the import that calls back into the module.
pub const REENTER: &str = "reenter";
/// Name of the import that often ends the program.
pub const FAIL: &str = "fail";
/// Names of the functions that [`REENTER`] calls, if they are exported, take an i32 and return one.
pub const ENTRIES: [&str; 4] = ["entry0", "entry1", "entry2", "entry3"];

/// How often the host calls back into a module: each time is another activation with its own traps.
const MOST_ENTRIES: u32 = 60;

/// The state of the host.
#[derive(Clone, Copy, Debug, Default)]
pub struct Host {
    /// Number of calls so far.
    pub calls: u64,
    /// Hash of the names and arguments so far.
    pub hash: u64,
    entries: u32,
}

/// The behaviour of a host function in one call.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Returns values.
    Return(Vec<Value>),
    /// Ends the program.
    Exit(i32),
    /// Calls one of [`ENTRIES`] and returns its result. If the callee fails, the host function fails as well, or
    /// returns -1.
    Enter {
        /// The function to call.
        entry: &'static str,
        /// Its argument.
        argument: i32,
        /// Whether to return -1 if the callee fails.
        forgive: bool,
    },
}

impl Host {
    /// Decides the behaviour of a call of the function `name`.
    pub fn call(&mut self, name: &str, args: &[Value], results: &[ValType]) -> Answer {
        self.calls += 1;
        name.bytes().for_each(|b| self.note(u64::from(b)));
        args.iter().for_each(|&arg| self.note(bits(arg.canonical())));
        let first = args.first().map_or(0, |&arg| bits(arg) as i32);
        match name {
            REENTER if self.entries < MOST_ENTRIES => {
                self.entries += 1;
                Answer::Enter {
                    entry: ENTRIES[first as usize % ENTRIES.len()],
                    argument: first.wrapping_sub(1),
                    forgive: first & 4 == 0,
                }
            }
            FAIL if first & 7 == 3 => Answer::Exit(first),
            _ if self.calls % 40 == 39 => Answer::Exit(self.calls as i32),
            _ => self.values(results),
        }
    }

    fn values(&self, results: &[ValType]) -> Answer {
        let mut rng = Rng::new(self.calls);
        Answer::Return(results.iter().map(|&ty| Value::any(ty, &mut rng)).collect())
    }

    fn note(&mut self, bits: u64) {
        self.hash = mix(self.hash ^ bits);
    }
}

fn bits(value: Value) -> u64 {
    match value {
        Value::I32(v) => u64::from(v as u32),
        Value::I64(v) => v as u64,
        Value::F32(bits) => u64::from(bits),
        Value::F64(bits) => bits,
        Value::V128(v) => v as u64 ^ (v >> 64) as u64,
        Value::Func(f) => u64::from(f),
        Value::Extern(e) => e.map_or(1 << 40, u64::from),
    }
}
