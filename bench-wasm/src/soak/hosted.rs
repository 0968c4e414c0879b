//! Requests that need more of the host: HTTP, files, and calls that wait.

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use wprof::component::{self, Component};
use wprof::wasi::{OutputPipe, WasiCtx, WasiCtxBuilder};
use wprof::wasi2::http::{self, Request};
use wprof::{Caller, Error, ExternRef, Linker, Module, Store, wasi, wasi2};

#[path = "../../../spec-tests/tests/wasi2/embed.rs"]
mod embed;

use super::expect;
use super::guests::FILES;

/// What an engine serves such requests with.
pub struct Hosted {
    http: Component,
    https: component::Linker<WasiCtx>,
    files: Module,
    wasi: Linker<WasiCtx>,
    module: Module,
    waiting: Linker<u64>,
}

impl Hosted {
    /// Compiles what serves, in the engine of `module`, which is called by requests that wait.
    pub fn new(module: &Module) -> wprof::Result<Hosted> {
        let engine = module.engine();
        let mut https = component::Linker::new(engine);
        wasi2::add_to_linker(&mut https, |wasi: &mut WasiCtx| wasi)?;
        http::add_to_linker(&mut https, |wasi: &mut WasiCtx| wasi)?;
        let mut wasi = Linker::new(engine);
        wasi::add_to_linker(&mut wasi, |wasi: &mut WasiCtx| wasi)?;
        let mut waiting = Linker::new(engine);
        waiting.func_wrap_async("host", "keep", |_: Caller<'_, u64>, kept: Option<ExternRef>| {
            Box::new(async move {
                let mut has_waited = false;
                poll_fn(|_| {
                    if std::mem::replace(&mut has_waited, true) { Poll::Ready(()) } else { Poll::Pending }
                })
                .await;
                kept
            })
        })?;
        // The tests answer HTTP requests with it as well.
        let answering = embed::component("http").map_err(Error::msg)?;
        let (http, files) = (Component::new(engine, answering)?, Module::new(engine, FILES)?);
        Ok(Hosted { http, https, files, wasi, module: module.clone(), waiting })
    }

    /// Answers an HTTP request.
    pub fn serve_http(&self, number: u64) -> wprof::Result<()> {
        let mut store = Store::try_new(self.http.engine(), WasiCtxBuilder::new().build())?;
        let instance = self.https.instantiate(&mut store, &self.http)?;
        let n = number % 1000;
        let path = if number.is_multiple_of(2) { format!("/count/{n}") } else { "/echo".to_owned() };
        let request = Request {
            method: "POST".to_owned(),
            path_with_query: Some(path),
            body: n.to_string().into_bytes(),
            ..Request::default()
        };
        let response = http::handle(&mut store, &instance, |wasi| wasi, request)?;
        expect(response.body == n.to_string().as_bytes(), "its number", &(n, response))
    }

    /// Has a program read a file, which it leaves open every third time.
    pub fn serve_file(&self, number: u64) -> wprof::Result<()> {
        let out = OutputPipe::with_limit(1 << 16);
        let mut wasi = WasiCtxBuilder::new();
        let wasi = wasi.stdout_pipe(&out).preopened_dir_read_only("/proc/self", "/")?.build();
        let mut store = Store::try_new(self.files.engine(), wasi)?;
        let instance = self.wasi.instantiate(&mut store, &self.files)?;
        let serve = instance.get_typed_func::<i32, i32>(&mut store, "serve")?;
        let read = serve.call(&mut store, i32::from(number.is_multiple_of(3)))?;
        let text = out.contents();
        expect(
            read > 0 && read as usize == text.len() && text.starts_with(b"Name:"),
            "a file",
            &(read, text),
        )?;
        super::verified(&instance, &store)
    }

    /// Calls a function that waits for the host, on a fiber, which every fifth time is dropped meanwhile.
    pub fn serve_waiting(&self, number: u64) -> wprof::Result<()> {
        let mut store = Store::try_new(self.module.engine(), number)?;
        let instance = self.waiting.instantiate(&mut store, &self.module)?;
        let serve = instance.get_typed_func::<(i32, Option<ExternRef>), i32>(&mut store, "serve")?;
        let n = 50 + (number % 3000) as i32;
        let mut context = Context::from_waker(Waker::noop());
        let served = {
            let mut call = pin!(serve.call_async(&mut store, (n, Some(ExternRef::new(vec![0_u8; 100])))));
            let waits = call.as_mut().poll(&mut context).is_pending();
            expect(waits, "a call that waits", &waits)?;
            if number.is_multiple_of(5) {
                return Ok(());
            }
            match call.as_mut().poll(&mut context) {
                Poll::Ready(served) => served,
                Poll::Pending => return Err(Error::msg("the call waits twice")),
            }
        };
        expect(served.is_err() == (n % 17 == 0), "a trap for multiples of 17 only", &served)?;
        super::verified(&instance, &store)
    }
}
