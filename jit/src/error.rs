//! The errors that keep a function from being compiled.

/// The reason why a function could not be compiled. The module itself stays usable: the call that needed the function
/// traps.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The bytecode differs from what validation accepted; `offset` is a byte offset in the module.
    #[error("invalid function body at offset {offset:#x}: {message}")]
    Invalid {
        /// The byte offset in the module.
        offset: usize,
        /// The parser's message.
        message: String,
    },
    /// An instruction that this build does not translate.
    #[error("instruction not supported at offset {offset:#x}: {what}")]
    Unsupported {
        /// The byte offset in the module.
        offset: usize,
        /// The instruction.
        what: String,
    },
    /// The function is larger than an implementation limit allows (see `limits`).
    #[error("function {func} is too large to compile: {what}")]
    TooLarge {
        /// The function index in the module.
        func: u32,
        /// The limit, and its value.
        what: String,
    },
    /// Cranelift refused the function.
    #[error("code generation failed for function {func}: {message}")]
    Codegen {
        /// The function index in the module.
        func: u32,
        /// Cranelift's message.
        message: String,
    },
}

impl From<wasmparser::BinaryReaderError> for CompileError {
    fn from(e: wasmparser::BinaryReaderError) -> Self {
        CompileError::Invalid { offset: e.offset() as usize, message: e.message().to_string() }
    }
}
