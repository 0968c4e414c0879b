//! Stores and instances, and the data of both that machine code uses.

pub mod abi;
pub mod build_id;
pub mod engine_core;
pub mod exclusive;
pub mod instance;
pub mod instantiate;
pub mod items;
pub mod jitdump_page;
pub mod kept;
pub mod loaded;
pub mod observation;
pub mod own_context;
pub mod pool;
pub mod store_opaque;
pub mod store_ptr;
pub mod stored;
pub mod vmctx;
