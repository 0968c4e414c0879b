//! `wprof serve`: serves HTTP requests with a component, and profiles it.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::serve_component::{self, ServeComponentArgs};
use crate::render::screen::ColorChoice;

const EXAMPLES: &str = "\
Examples:
  wprof serve app.wasm                                 answer requests at http://127.0.0.1:8080 until Ctrl-C
  wprof serve --addr 127.0.0.1:0 --requests 1000 app.wasm
  wprof serve --exact -o app.wprof --dir data app.wasm";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
The component exports wasi:http/incoming-handler, in any version 0.2.x. One instance of it answers all requests, \
one after the other; connections wait for their turn. Requests and responses are whole: a body is in memory, up \
to --max-body. When the server ends there is a table of requests by path, in which numbers and other \
identifiers are `*`, and the profile, as after `wprof run`. With --collect events=instructions the table also \
tells how many instructions requests took.

The server ends at Ctrl-C, after --requests, at --timeout, or when the component traps: then this request is \
answered with 500, and the trap is shown with a backtrace.

Connections are HTTP/1.1 without encryption.

{EXAMPLES}

Exit codes: 0 after --requests; 130 after Ctrl-C; 134 after a trap or a timeout; 1 if wprof itself failed."))]
pub struct ServeArgs {
    #[command(flatten)]
    component: ServeComponentArgs,
}

pub fn execute(args: ServeArgs, color: ColorChoice) -> Result<ExitCode> {
    serve_component::execute(args.component, color)
}
