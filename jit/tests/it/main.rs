//! The compiler from WebAssembly to machine code: translation, plans, passes, superblocks, the single-pass tier.

mod checks;
mod dispatched;
mod events;
mod fold;
mod growth;
mod hints;
mod machine_code;
mod parsed;
mod passes;
mod phases;
mod range;
mod resumed;
mod simd;
mod single_pass;
mod split;
mod superblocks;
mod translate;
mod unrolled;
mod vectors;
