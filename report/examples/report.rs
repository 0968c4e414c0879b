//! Runs a WASI program and writes what the command `wprof` would show of it, without that command:
//! `cargo run -p wprof-report --example report -- program.wasm folder args…`
//!
//! The folder gets the page `report.html`, `profile.pb.gz` for pprof, and `hinted.wasm`, the program with branch hints. The report goes
//! to standard output, behind what the program writes.

use std::error::Error;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use wprof::wasi::{self, WasiCtx, WasiCtxBuilder};
use wprof::{Collect, Engine, Linker, Module, ProfilingConfig, Store};
use wprof_report::export::{self, Export, Format};
use wprof_report::html::{self, HtmlPage};
use wprof_report::page::{Page, Style};
use wprof_report::text::{self, ReportOptions};
use wprof_report::{Program, Sources, View, hints};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [program, folder, args @ ..] = &args[..] else {
        return Err("usage: report program.wasm folder args…".into());
    };
    print!("{}", report(Path::new(program), Path::new(folder), args)?);
    Ok(())
}

/// Runs a program, writes the files into a folder, and returns the report as text.
pub fn report(program: &Path, folder: &Path, args: &[String]) -> Result<String, Box<dyn Error>> {
    let engine = Engine::with_profiling(ProfilingConfig::Exact(Collect::Edges))?;
    let module = Module::from_file(&engine, program)?;
    let mut linker: Linker<WasiCtx> = Linker::new(&engine);
    wasi::add_to_linker(&mut linker, |ctx| ctx)?;
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let args: Vec<String> = [name].into_iter().chain(args.iter().cloned()).collect();
    let mut store = Store::new(&engine, WasiCtxBuilder::new().args(&args)?.inherit_stdio().build());
    let instance = linker.instantiate(&mut store, &module)?;
    let outcome = instance.get_typed_func::<(), ()>(&mut store, "_start")?.call(&mut store, ());
    // An exit is how most programs end; after a trap the profile tells how far the program came.
    outcome.or_else(|error| error.i32_exit().map(drop).ok_or(error))?;
    let profile = instance.profile(&store)?;

    // A view with the path shows the text of source lines from files beside the module.
    let code = Program::from(&module);
    let view = View::new(&profile, Some(&code)).at(program);
    let mut page = Page::new(Style::default());
    let mut options = ReportOptions::default();
    options.top = 5;
    text::report(&mut page, &view, &options);

    let mut options = html::Options::default();
    options.sources = Sources::next_to(program);
    HtmlPage::new(&view, options)?.write(BufWriter::new(File::create(folder.join("report.html"))?))?;

    let hinted = hints::write(&module, &profile, &hints::Options::default())?;
    fs::write(folder.join("hinted.wasm"), &hinted.bytes)?;

    let pprof = Export::new(profile.clone(), Some(&code), Format::Pprof, export::Options::default())?;
    pprof.write(BufWriter::new(File::create(folder.join("profile.pb.gz"))?))?;
    Ok(page.into_text())
}
