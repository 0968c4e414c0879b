//! A minimal web server for a folder: instruments the modules of its pages, and receives their counters.

pub mod http;
pub mod server;
pub mod site;
