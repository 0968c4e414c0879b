//! The addition of WASI: what programs are given, and their output.

use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};

use wprof::wasi::{self, OutputPipe, WasiCtx, WasiCtxBuilder};
use wprof::{AsContextMut, Extern, Linker, Result};

use crate::error::{Message, report, wrong};
use crate::reference::Reference;
use crate::store::{Data, StoreRef};
use crate::vector::{Bytes, Owned, Vector, text};

/// Gives a directory of the host to the programs.
fn preopen(wasi: &mut WasiCtxBuilder, host: &Bytes, guest: &Bytes, may_write: bool) -> Result<()> {
    let path = |bytes: &Bytes| -> PathBuf { Path::new(&text(bytes)).to_owned() };
    let (host, guest) = (path(host), path(guest));
    match may_write {
        true => wasi.preopened_dir(host, guest)?,
        false => wasi.preopened_dir_read_only(host, guest)?,
    };
    Ok(())
}

/// Returns the context of a store's programs. Only functions of stores that have one exist.
fn context(data: &mut Data) -> &mut WasiCtx {
    data.wasi.as_mut().expect("functions of WASI are given to stores with a context only")
}

/// Returns the function of WASI with a name.
fn import(store: &StoreRef, module: &str, name: &str) -> Result<Box<Reference>> {
    let item = store.with(|mut store| -> Result<Extern> {
        if store.data().wasi.is_none() {
            return Err(wrong(format_args!(
                "the store has no WASI that `{module}::{name}` could use: set it"
            )));
        }
        let mut linker = Linker::new(store.engine());
        wasi::add_to_linker(&mut linker, context)?;
        let found = linker.get(store.as_context_mut(), module, name);
        found.ok_or_else(|| wrong(format_args!("WASI has no function `{module}::{name}`")))
    })?;
    Ok(Box::new(Reference::to_extern(store, item)))
}

export! {
    ["wprof_wasi_new"] fn() -> Box<WasiCtxBuilder> {
        Box::new(WasiCtxBuilder::new())
    }
    ["wprof_wasi_delete"] fn(wasi: Owned<WasiCtxBuilder>) {
        drop(wasi);
    }
    ["wprof_wasi_arg"] fn(wasi: &mut WasiCtxBuilder, arg: &Bytes, error: Message<'_>) -> bool {
        report(wasi.arg(&text(arg)), error).is_some()
    }
    ["wprof_wasi_env"] fn(
        wasi: &mut WasiCtxBuilder,
        name: &Bytes,
        value: &Bytes,
        error: Message<'_>,
    ) -> bool {
        report(wasi.env(&text(name), &text(value)), error).is_some()
    }
    ["wprof_wasi_inherit_stdio"] fn(wasi: &mut WasiCtxBuilder, stdin: bool, stdout: bool, stderr: bool) {
        if stdin {
            wasi.inherit_stdin();
        }
        if stdout {
            wasi.inherit_stdout();
        }
        if stderr {
            wasi.inherit_stderr();
        }
    }
    ["wprof_wasi_stdin"] fn(wasi: &mut WasiCtxBuilder, bytes: &Bytes) {
        wasi.stdin_bytes(bytes.as_slice());
    }
    ["wprof_wasi_preopen_dir"] fn(
        wasi: &mut WasiCtxBuilder,
        host: &Bytes,
        guest: &Bytes,
        may_write: bool,
        error: Message<'_>,
    ) -> bool {
        report(preopen(wasi, host, guest, may_write), error).is_some()
    }
    ["wprof_wasi_random_seed"] fn(wasi: &mut WasiCtxBuilder, seed: u64) {
        wasi.random_seed(seed);
    }
    ["wprof_wasi_inherit_network"] fn(wasi: &mut WasiCtxBuilder) {
        wasi.inherit_network();
    }
    ["wprof_wasi_stdout"] fn(wasi: &mut WasiCtxBuilder, limit: usize) -> Box<OutputPipe> {
        let pipe = OutputPipe::with_limit(limit);
        wasi.stdout_pipe(&pipe);
        Box::new(pipe)
    }
    ["wprof_wasi_stderr"] fn(wasi: &mut WasiCtxBuilder, limit: usize) -> Box<OutputPipe> {
        let pipe = OutputPipe::with_limit(limit);
        wasi.stderr_pipe(&pipe);
        Box::new(pipe)
    }
    ["wprof_pipe_contents"] fn(pipe: &OutputPipe, out: &mut MaybeUninit<Bytes>) {
        out.write(Vector::new(pipe.contents()));
    }
    ["wprof_pipe_delete"] fn(pipe: Owned<OutputPipe>) {
        drop(pipe);
    }
    ["wprof_store_set_wasi"] fn(store: &StoreRef, wasi: Box<WasiCtxBuilder>) {
        let mut wasi = wasi;
        store.with(|mut context| context.data_mut().wasi = Some(wasi.build()));
    }
    ["wprof_wasi_import"] fn(
        store: &StoreRef,
        module: &Bytes,
        name: &Bytes,
        error: Message<'_>,
    ) -> Owned<Reference> {
        report(import(store, &text(module), &text(name)), error)
    }
}
