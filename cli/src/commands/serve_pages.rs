//! `wprof serve-pages`, also `wprof serve FOLDER`: serves a folder of web pages whose modules count.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Result, ensure};
use clap::{Args, ValueHint};

use super::collect::{Gathered, NOTHING};
use super::instrument::RewriteArgs;
use super::web::connections;
use super::web::inbox::LIMITS;
use super::web::site::Site;
use crate::help;
use crate::output;
use crate::screen::ColorChoice;

const EXAMPLES: &str = "\
Examples:
  wprof serve-pages -o f.wprof dist              serve dist, and profile what its pages run until Ctrl-C
  wprof serve -o f.wprof dist                    the same, as dist is a folder
  wprof serve-pages --addr 127.0.0.1:0 -o f.wprof dist
  wprof collect --browser dist/index.html        or open the page in a browser, too";

/// The interval at which instances send counters, in milliseconds.
const EVERY: u32 = 1000;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("\
wprof puts a script in front of each page's own scripts. The script instruments each WebAssembly module that \
the page or its workers compile, wherever its bytes come from. Instances send their counters every second. \
Ctrl-C ends the server and writes a profile of each module, with the module beside it, as `wprof collect` \
does.

Pages are isolated (COOP and COEP), so that they may share memory with workers. So everything that they load \
must be in the folder, too.

{EXAMPLES}"))]
pub struct ServePagesArgs {
    /// Serve at this address; port 0 takes a free port
    #[arg(long = "addr", value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8000", help_heading = help::INPUT)]
    address: SocketAddr,
    #[command(flatten)]
    rewrite: RewriteArgs,
    /// Write the profile to this file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = help::OUTPUT)]
    output: Option<PathBuf>,
    /// Print no summary
    #[arg(short, long, help_heading = help::OUTPUT)]
    quiet: bool,
    /// The folder
    #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
}

pub fn execute(args: &ServePagesArgs, color: ColorChoice) -> Result<()> {
    args.rewrite.check()?;
    ensure!(
        args.output.is_some() || !args.quiet,
        "nothing would read the counts: give -o FILE, or leave out --quiet"
    );
    ensure!(!args.rewrite.is_trace() || args.output.is_some(), "a trace needs a file: give -o FILE.wtrace");
    let (listener, address) = connections::listen(args.address, "give a free one with --addr ADDRESS:PORT")?;
    let site = Arc::new(Site::new(&args.folder, address, args.rewrite.clone(), EVERY)?);
    let stop = connections::interruption()?;
    output::tell_line(format_args!(
        "wprof: {} is at http://{address}/; Ctrl-C ends and writes the profile",
        args.folder.display()
    ));
    let answering = site.clone();
    let answer = move |request| answering.answer(request);
    connections::serve(listener, LIMITS, answer, || stop.load(Ordering::Relaxed))?;
    let gathered = Gathered::of_site(site.take_all(), &args.folder.display().to_string())?;
    if !gathered.conclude(args.output.as_deref(), args.quiet, color)? {
        output::tell_line(format_args!("wprof: {NOTHING}"));
    }
    Ok(())
}
