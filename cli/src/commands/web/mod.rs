//! Just enough of a web server: a folder whose pages' modules are instrumented on the way, and counters that come back.

pub mod http;
pub mod server;
pub mod site;
