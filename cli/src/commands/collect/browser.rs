//! A page in Chromium: what it loads is rewritten on the way, by our server.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use wprof_instrument::Options;

use crate::commands::web::server;
use crate::commands::web::site::{Site, Taken};

/// What Chromium may be called.
const BROWSERS: [&str; 5] =
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];
/// How often instances send counters, in milliseconds.
const EVERY: u32 = 300;
/// A page is done when it has asked for nothing, and its instances have counted nothing new, for so long.
const QUIET: Duration = Duration::from_secs(5);

/// A page to be opened.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    /// The page's file.
    pub page: &'a Path,
    /// The folder that is served; that of the page by default.
    pub root: Option<&'a Path>,
    /// Whether there is a window, which ends the run when it is closed.
    pub head: bool,
    /// The longest time.
    pub timeout: Duration,
}

/// Opens a page and takes what its modules count, until it is done.
///
/// # Errors
/// If there is no such page, or no browser.
pub fn visit(visit: Visit<'_>, options: Options<'static>) -> Result<Taken> {
    let shown = visit.page.display();
    let page = visit.page.canonicalize().with_context(|| format!("cannot read {shown}"))?;
    let folder = page.parent().context("a page is in a folder")?;
    let root = visit.root.unwrap_or(folder);
    let root = root.canonicalize().with_context(|| format!("cannot read {}", root.display()))?;
    let Ok(path) = page.strip_prefix(&root) else {
        bail!("{shown} is not in {}: give a folder that it is in", root.display())
    };
    let (listener, address) = server::listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    let site = Arc::new(Site::new(&root, address, options, EVERY)?);
    let stop = server::interruption()?;
    let user = tempfile::tempdir().context("no folder for the browser")?;
    let url = format!("http://{address}/{}", escaped(path));
    let mut browser = Browser(start(&url, user.path(), visit.head)?);
    let begun = Instant::now();
    let is_done = || {
        let is_quiet = !visit.head && site.is_done(QUIET);
        let is_over = begun.elapsed() >= visit.timeout && !visit.head;
        stop.load(Ordering::Relaxed) || is_quiet || is_over || browser.has_ended()
    };
    let answering = site.clone();
    server::serve(&listener, move |stream| answering.answer(stream), is_done)?;
    drop(browser);
    Ok(site.take_all())
}

/// A browser, which ends when nobody needs it any more.
struct Browser(Child);

impl Browser {
    fn has_ended(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
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
        if rustix::process::geteuid().is_root() {
            // Chromium's sandbox does not work for root.
            command.arg("--no-sandbox");
        }
        command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.spawn() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            child => return child.with_context(|| format!("cannot run {name}")),
        }
    }
    bail!("there is no Chromium (looked for {}): install one, or use wprof serve", BROWSERS.join(", "))
}

/// A path as part of an address.
fn escaped(path: &Path) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    PathBuf::from(path).to_string_lossy().bytes().map(byte).collect()
}
