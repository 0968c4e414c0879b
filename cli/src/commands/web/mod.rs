//! Web servers: connections of HTTP/1.1, the counters that pages send, and a folder whose pages' modules count.

pub mod connections;
pub mod inbox;
pub mod site;
