//! Profiling of a page in Chromium: this process's server rewrites the modules that the page loads.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, geteuid, kill_process_group};

use crate::commands::instrument::RewriteArgs;
use crate::commands::web::connections;
use crate::commands::web::inbox::LIMITS;
use crate::commands::web::site::{ReceivedCounters, Site};

/// Names under which Chromium may be installed.
const BROWSERS: [&str; 5] =
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];
/// The interval at which instances send counters, in milliseconds.
const EVERY: u32 = 300;
/// A page is done when it has made no request, and its instances have counted nothing new, for this long.
const QUIET: Duration = Duration::from_secs(5);

/// A page to open.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    /// The page's file.
    pub page: &'a Path,
    /// The folder that is served; by default the page's folder.
    pub root: Option<&'a Path>,
    /// Whether to show a window, whose closing ends the run.
    pub head: bool,
    /// The maximum duration.
    pub timeout: Duration,
}

/// Opens a page and collects the counters of its modules until the page is done.
///
/// # Errors
/// Returns an error if the page or a browser is missing.
pub fn visit(visit: Visit<'_>, rewrite: &RewriteArgs) -> Result<ReceivedCounters> {
    let shown = visit.page.display();
    let page = visit.page.canonicalize().with_context(|| format!("cannot read {shown}"))?;
    let folder = page.parent().context("a page is in a folder")?;
    let root = visit.root.unwrap_or(folder);
    let root = root.canonicalize().with_context(|| format!("cannot read {}", root.display()))?;
    let Ok(path) = page.strip_prefix(&root) else {
        bail!("{shown} is not in {}: give a folder that contains it", root.display())
    };
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let (listener, address) = connections::listen(any, "end a program that listens there")?;
    let site = Arc::new(Site::new(&root, address, rewrite.clone(), EVERY)?);
    let stop = connections::interruption()?;
    let user = tempfile::tempdir().context("cannot make a temporary folder for the browser")?;
    let url = format!("http://{address}/{}", escaped(path));
    let mut browser = Browser(start(&url, user.path(), visit.head)?);
    let begun = Instant::now();
    let is_done = || {
        let is_quiet = !visit.head && site.is_done(QUIET);
        let is_over = begun.elapsed() >= visit.timeout && !visit.head;
        stop.load(Ordering::Relaxed) || is_quiet || is_over || browser.has_ended()
    };
    let answering = site.clone();
    connections::serve(listener, LIMITS, move |request| answering.answer(request), is_done)?;
    drop(browser);
    Ok(site.take_all())
}

/// A browser process, which ends when this value is dropped.
struct Browser(Child);

impl Browser {
    fn has_ended(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The command may be a script that starts the browser, so its whole process group is ended. It may have ended by itself.
        let group = Pid::from_child(&self.0);
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.0.wait();
    }
}

fn start(url: &str, user: &Path, head: bool) -> Result<Child> {
    let names = BROWSERS.iter().filter(|name| !head || !name.contains("headless"));
    for name in names {
        let mut command = Command::new(name);
        command.args([
            "--no-first-run",
            "--disable-gpu",
            "--disable-extensions",
            "--remote-debugging-port=0",
        ]);
        command.arg(format!("--user-data-dir={}", user.display()));
        if !head {
            command.arg("--headless");
        }
        if geteuid().is_root() {
            // Chromium's sandbox does not work for root.
            command.arg("--no-sandbox");
        }
        command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.process_group(0).spawn() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            child => return child.with_context(|| format!("cannot run {name}")),
        }
    }
    bail!("there is no Chromium (looked for {}): install one, or use wprof serve", BROWSERS.join(", "))
}

/// Escapes a path as part of an address.
fn escaped(path: &Path) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    PathBuf::from(path).to_string_lossy().bytes().map(byte).collect()
}
