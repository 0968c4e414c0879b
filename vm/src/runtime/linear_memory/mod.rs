//! Linear memories: mappings, images, data read on demand, bulk and atomic operations.

pub mod atomics;
pub mod bulk;
pub mod demand;
pub mod growth;
pub mod image;
pub mod mapped_file;
pub mod mapping;
pub mod memory_image;
pub mod pages;
pub mod private_memory;
pub mod shared_data;
pub mod store_memory;
pub mod written_pages;
