//! Types and values: references, tables, globals, exceptions.

pub mod arrays;
pub mod budget;
pub mod collected;
pub mod const_eval;
pub mod element_arrays;
pub mod elements;
pub mod exceptions;
pub mod externs;
pub mod global_data;
pub mod handles;
pub mod held;
pub mod objects;
pub mod table_data;
pub mod type_ids;
