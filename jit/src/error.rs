//! What can keep one function from being compiled.

/// Why a function could not be compiled. The module itself stays usable: the call that needed the function traps.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The bytecode is not what validation accepted; `offset` is a byte offset in the module.
    #[error("invalid function body at offset {offset:#x}: {message}")]
    Invalid {
        /// Byte offset in the module.
        offset: usize,
        /// What the parser said.
        message: String,
    },
    /// An instruction that this build does not translate.
    #[error("instruction not supported at offset {offset:#x}: {what}")]
    Unsupported {
        /// Byte offset in the module.
        offset: usize,
        /// The instruction.
        what: String,
    },
    /// The function is larger than an implementation limit allows (see `limits`).
    #[error("function {func} is too large to compile: {what}")]
    TooLarge {
        /// Function index in the module.
        func: u32,
        /// Which limit, and its value.
        what: String,
    },
    /// Cranelift refused the function.
    #[error("code generation failed for function {func}: {message}")]
    Codegen {
        /// Function index in the module.
        func: u32,
        /// What Cranelift said.
        message: String,
    },
}

impl From<wasmparser::BinaryReaderError> for CompileError {
    fn from(e: wasmparser::BinaryReaderError) -> Self {
        CompileError::Invalid { offset: e.offset() as usize, message: e.message().to_string() }
    }
}
