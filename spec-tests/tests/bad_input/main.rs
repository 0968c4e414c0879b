//! Bad input: broken modules and hostile ones. Each gives a clear error or runs; nothing panics, nothing aborts the
//! process, memory stays bounded.
//!
//! * `broken`: real programs cut off, with bits flipped, and mutated, by seeds. `WPROF_SEEDS=100000 cargo test
//!   --release -p wprof-spec-tests --test bad_input broken` is the long run; `WPROF_FIRST_SEED` says where to begin.
//! * `hostile`: modules that are valid, or nearly, and as large or deep as they can be.
//!
//! A new hostile module is a text and what should become of it:
//!
//! ```ignore
//! #[test]
//! fn nested_blocks() {
//!     runs(&func(&("block ".repeat(10_000) + &"end ".repeat(10_000))));
//! }
//! ```

mod broken;
mod hostile;
mod visit;
