//! Bad input: broken and hostile modules. Each gives a clear error or runs; nothing panics or aborts the process, and
//! memory stays bounded.
//!
//! * `broken`: real programs that are truncated, have flipped bits, or are mutated, by seeds. The long run is
//!   `WPROF_SEEDS=100000 cargo test --release -p wprof-spec-tests --test bad_input broken`; `WPROF_FIRST_SEED` sets
//!   the first seed.
//! * `hostile`: valid or nearly valid modules that are as large or deep as possible.
//!
//! A new hostile module is a text and its expected result:
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
