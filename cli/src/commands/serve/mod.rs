//! `wprof serve`: serves HTTP requests with a component, and profiles it.

mod answer;
mod jobs;
mod queue;
mod requests;
mod workers;

use std::net::{SocketAddr, TcpListener};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use wprof::component::{Component, Instance};
use wprof::wasi::WasiCtx;
use wprof::wasi2::http::{WireLimits, handler_name};
use wprof::{Error, Store};

use super::run::{self, RunArgs};
use crate::commands::web::connections::{self, Limits};
use crate::help;
use crate::screen::ColorChoice;
use crate::{durations, output, sizes};
use jobs::Jobs;
pub use requests::Requests;
use workers::Crew;
pub use workers::Instances;

/// Longer bodies of requests are passed on to the component as they come.
const SHORT: usize = 256 << 10;
/// More workers than connections would have nothing to do.
const MOST_WORKERS: i64 = 256;

const EXAMPLES: &str = "\
Examples:
  wprof serve app.wasm                                 answer requests at http://127.0.0.1:8080 until Ctrl-C
  wprof serve --addr 127.0.0.1:0 --requests 1000 app.wasm
  wprof serve --exact -o app.wprof --dir data app.wasm
  wprof serve -o site.wprof dist                       serve the web pages in a folder: see `wprof help serve-pages`";

/// The options of a server: those of `wprof run`, but for what is called.
#[derive(Debug, Args)]
#[command(mut_arg("invoke", |arg| arg.hide(true)))]
#[command(after_help = EXAMPLES, after_long_help = format!("\
The component must export wasi:http/incoming-handler, in any version 0.2.x. One instance answers requests, one after \
the other. When a request has to wait, another instance starts, up to --workers, and stays. After a trap, or \
a request that takes longer than --request-timeout, a new instance replaces the old one, up to --restarts times. The profile is that of all instances. Long bodies of \
requests and responses are streamed: the instance waits for the client, which must send or accept 64 KiB within \
--connection-timeout. When the server ends, it prints a table of requests by path, in which `*` stands for numbers and \
other identifiers, and the profile, as `wprof run` does. With --collect events=instructions the table also has the \
instructions per request.

The server ends at Ctrl-C, after --requests, at --timeout, when the component exits, or when it traps once more than \
--restarts. That last request is answered with 500, or 504 if it took too long, and the trap is shown with a \
backtrace. With --budget, --bursts, \
--coredump or --live there is one instance, and the first trap ends the server.

Clients connect by HTTP/1.1 without encryption.

`wprof serve FOLDER` is the same as `wprof serve-pages FOLDER`: it serves the web pages in a folder and profiles what \
they run.

Exit codes: 0 after --requests; 130 after Ctrl-C; 134 after the last trap or a timeout; 1 if wprof itself failed.

{EXAMPLES}"))]
pub struct ServeArgs {
    /// Listen at this address; port 0 takes a free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080", help_heading = help::PROGRAM)]
    addr: String,
    /// End after N requests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    requests: Option<u64>,
    /// Replace a trapped instance at most N times; 0 ends the server at the first trap
    #[arg(long, value_name = "N", default_value_t = 1000)]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    restarts: u32,
    /// Answer up to N requests at once, each with its own instance
    ///
    /// Another instance starts when all are busy and a request has waited for 20 ms.
    #[arg(long, value_name = "N", default_value_t = 8)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=MOST_WORKERS))]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    workers: u16,
    /// Refuse requests with a body longer than this
    #[arg(long, value_name = "SIZE", value_parser = sizes::parse, default_value = "1G")]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    max_body: u64,
    /// Close connections on which receiving a request or sending a response takes longer than this
    #[arg(long, value_name = "DURATION", value_parser = durations::parse, default_value = "60s")]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    connection_timeout: Duration,
    /// Stop an instance that takes longer than this to answer a request; `off` sets no limit
    ///
    /// The time begins when an instance takes the request, and ends when it has written the response. The instance ends with
    /// a trap, and the request is answered with 504 if no response has begun.
    #[arg(long, value_name = "DURATION|off", value_parser = RequestTimeout::parse, default_value = "60s")]
    #[arg(help_heading = help::LIMITS, hide_short_help = true)]
    request_timeout: RequestTimeout,
    #[command(flatten)]
    run: RunArgs,
}

/// How long an instance may take to answer a request, if that is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RequestTimeout(Option<Duration>);

impl RequestTimeout {
    fn parse(text: &str) -> Result<RequestTimeout, String> {
        match text {
            "off" | "0" => Ok(RequestTimeout(None)),
            text => durations::parse(text).map(|time| RequestTimeout(Some(time))),
        }
    }
}

/// The settings of a server.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    limits: Limits,
    most: Option<u64>,
    restarts: u32,
    workers: usize,
    /// The size of each worker's stack, in bytes.
    max_stack: usize,
    request_timeout: Option<Duration>,
    is_verbose: bool,
}

pub fn execute(mut args: ServeArgs, color: ColorChoice) -> Result<ExitCode> {
    let (listener, address) = connections::listen(&args.addr, "give a free one with --addr ADDRESS:PORT")?;
    let body = usize::try_from(args.max_body).unwrap_or(usize::MAX);
    let server = Server {
        listener,
        address,
        limits: Limits {
            wire: WireLimits { body, ..WireLimits::default() },
            patience: args.connection_timeout,
            short: SHORT,
        },
        most: args.requests,
        restarts: args.restarts,
        workers: args.workers.into(),
        max_stack: args.run.program.max_stack as usize,
        request_timeout: args.request_timeout.0,
        is_verbose: args.run.verbose,
    };
    args.run.program.limits_calls = server.request_timeout.is_some();
    run::serve(args.run, server, color)
}

impl Server {
    /// Checks that a component answers requests.
    ///
    /// # Errors
    /// Returns an error if the component does not.
    pub fn check(component: &Component) -> Result<()> {
        if handler_name(component.funcs().iter().map(|(name, _)| name)).is_none() {
            bail!(
                "this component serves no requests: it does not export wasi:http/incoming-handler@0.2; `wprof run` runs \
                 commands, and calls functions with --invoke"
            );
        }
        Ok(())
    }

    /// Answers requests until the program is to end, and records the results in `requests`. The first worker has the
    /// given store and instance; others, and those after a trap, come from `instances`.
    ///
    /// # Errors
    /// Returns an error if the system provides no threads, or a new store cannot be created. The inner error is the
    /// program's.
    pub fn serve(
        self,
        first: (&mut Store<WasiCtx>, Instance),
        instances: &impl Instances,
        requests: &mut Requests,
    ) -> Result<Result<(), Error>> {
        let jobs = Jobs::open(self.listener, self.limits, self.most.unwrap_or(u64::MAX))?;
        output::tell_line(format_args!("wprof: listening at http://{}", self.address));
        let most = if instances.can_renew() { self.workers } else { 1 };
        let limits = (most, self.restarts, self.max_stack);
        let crew = Crew::new(&jobs, instances, limits, self.request_timeout, self.is_verbose, requests);
        let served = crew.work(first);
        jobs.finish();
        served
    }
}
