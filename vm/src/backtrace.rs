//! Backtraces of wasm code.

use std::fmt;

use crate::error::Backtrace;
use crate::module::{FrameSymbol, demangle};
use crate::runtime::stacks::frames::{self, Frame};
use crate::{AsContext, Error, Module};

/// The wasm frames on the stack at some moment, innermost first, including those of other stores that took part
/// in the calls. Very deep stacks are cut off, so it takes bounded time to make one. It keeps the modules alive, belongs to
/// no store, and threads may share it. Names and lines are looked up when they are asked for or shown; the first look-up
/// reads the module's debug information.
#[derive(Clone, Debug, Default)]
pub struct WasmBacktrace {
    frames: Vec<FrameInfo>,
}

/// A frame of a backtrace.
#[derive(Clone, Debug)]
pub struct FrameInfo {
    module: Module,
    func: u32,
    offset: u32,
}

impl WasmBacktrace {
    pub(crate) fn new(frames: Vec<Frame>) -> WasmBacktrace {
        let info = |f: Frame| FrameInfo {
            module: Module::from_loaded(&f.module),
            func: f.origin.func,
            offset: f.origin.offset,
        };
        WasmBacktrace { frames: frames.into_iter().map(info).collect() }
    }

    /// Captures the frames that are live now, in a host function; outside of one there are none.
    pub fn capture(store: impl AsContext) -> WasmBacktrace {
        let _ = store.as_context();
        WasmBacktrace::new(frames::live())
    }

    /// Returns the frames, innermost first.
    pub fn frames(&self) -> &[FrameInfo] {
        &self.frames
    }
}

impl Backtrace for WasmBacktrace {
    fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}

impl Error {
    /// Returns the backtrace of the wasm code in which the error occurred.
    pub fn backtrace(&self) -> Option<&WasmBacktrace> {
        self.backtrace_as()
    }
}

impl FrameInfo {
    /// Returns the module.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Returns the name of the module: [the one](Module::name_in_component) that tells it apart from others of its component,
    /// if there are others.
    pub fn module_name(&self) -> Option<&str> {
        self.module.name_in_component().or_else(|| self.module.name())
    }

    /// Returns the index of the function.
    pub fn func_index(&self) -> u32 {
        self.func
    }

    /// Returns the name of the function, mangled as in the module.
    pub fn func_name(&self) -> Option<&str> {
        self.module.func_name(self.func)
    }

    /// Returns the byte offset of the instruction in the module.
    pub fn module_offset(&self) -> usize {
        self.offset as usize
    }

    /// Returns the byte offset of the instruction in the function's body.
    pub fn func_offset(&self) -> usize {
        self.module_offset() - self.module.info().body(self.func).start
    }

    /// Returns the source functions and lines, innermost inlined function first; empty without debug information.
    pub fn symbols(&self) -> Vec<FrameSymbol> {
        self.module.symbols_at(self.offset)
    }
}

impl fmt::Display for WasmBacktrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("wasm backtrace:")?;
        for (i, frame) in self.frames.iter().enumerate() {
            write!(f, "\n{i:>5}: {frame}")?;
        }
        Ok(())
    }
}

impl fmt::Display for FrameInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#8x} - {}!", self.offset, self.module_name().unwrap_or("<module>"))?;
        match self.func_name() {
            Some(name) => f.write_str(&demangle(name))?,
            None => write!(f, "wasm-function[{}]", self.func)?,
        }
        for symbol in self.symbols() {
            write!(f, "\n{:18}at ", "")?;
            write!(f, "{}", symbol.file().unwrap_or("<unknown file>"))?;
            if let Some(line) = symbol.line() {
                write!(f, ":{line}")?;
            }
            if let Some(column) = symbol.column() {
                write!(f, ":{column}")?;
            }
            if let Some(name) = symbol.name() {
                write!(f, " ({})", demangle(name))?;
            }
        }
        Ok(())
    }
}
