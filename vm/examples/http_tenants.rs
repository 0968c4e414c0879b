//! An HTTP server for tenants that run one plug-in, each in instances of its own, and each with a flame graph of its own.
//!
//! `cargo run -p wprof --example http_tenants`, then
//!
//! * `curl localhost:8080/ada/render/1000` runs the plug-in for the tenant `ada`,
//! * `http://localhost:8080/ada` is her flame graph so far,
//! * `curl localhost:8080/` takes what came since the last time, as a message for OpenTelemetry, with the labels `tenant` and
//!   `instance`, and the trace of each request that names one in its field `traceparent` (W3C *Trace Context*).

use std::collections::BTreeMap;
use std::io::BufReader;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use wprof::profiler::Profile;
use wprof::profiler::export::{CodeMap, Origin, ProfileExporter, Samples, write_flamegraph};
use wprof::wasi2::http::{Received, Response, WireLimits, read_request, write_response};
use wprof::{AdaptiveProfile, Config, Engine, Error, InstancePre, Linker, Module};
use wprof::{PoolingConfig, ProfilingConfig, Store};
use wprof::{StoreLimits, StoreLimitsBuilder};

/// Parses or renders; both sum up digits.
const PLUGIN: &str = r#"(module
    (func $digits (param $n i32) (result i32) (local $sum i32)
        (loop $next
            (local.set $sum (i32.add (local.get $sum) (i32.rem_u (local.get $n) (i32.const 10))))
            (br_if $next (local.tee $n (i32.div_u (local.get $n) (i32.const 10)))))
        (local.get $sum))
    (func $parse (export "parse") (param $n i32) (result i32) (local $sum i32)
        (loop $next
            (local.set $sum (i32.add (local.get $sum) (call $digits (local.get $n))))
            (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum))
    (func $render (export "render") (param $n i32) (result i32) (local $sum i32)
        (loop $next
            (local.set $sum (i32.xor (local.get $sum) (call $digits (local.get $n))))
            (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum)))"#;

/// What a request may take.
const TIME: Duration = Duration::from_secs(1);
const MEMORY: usize = 1 << 20;
/// How many tenants and instances the exporter holds between two visits of a collector.
const HELD: usize = 10_000;

/// Samples at hardly any cost: time, and in short bursts calls and paths. The time between bursts goes on from one request to
/// the next. `ProfilingConfig::exact()` would count everything.
pub fn profiling() -> AdaptiveProfile {
    ProfilingConfig::adaptive().contexts().time(1000)
}

/// The ids of a trace and of a span in it.
pub type Span = ([u8; 16], [u8; 8]);

/// Returns the ids in a field `traceparent`, such as `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`.
fn span_of(field: &[u8]) -> Option<Span> {
    let mut parts = field.split(|&byte| byte == b'-').skip(1);
    Some((id(parts.next()?)?, id(parts.next()?)?))
}

/// Returns the bytes that hexadecimal digits stand for, if there are so many.
fn id<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    if digits.len() != 2 * N || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// The server, which any number of threads use.
pub struct Server {
    plugin: InstancePre<StoreLimits>,
    instances: AtomicU64,
    tenants: Mutex<BTreeMap<String, Profile>>,
    exporter: Mutex<ProfileExporter>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    /// Prepares the plug-in, to be profiled in some way.
    pub fn new(profiling: impl Into<Config>) -> Result<Server, Error> {
        let mut config: Config = profiling.into();
        config.interruptible(true).pooling(Some(PoolingConfig::for_instances(16)));
        let engine = Engine::new(&config)?;
        let plugin = Linker::new(&engine).instantiate_pre(&Module::new(&engine, PLUGIN)?)?;
        Ok(Server {
            plugin,
            instances: AtomicU64::new(0),
            tenants: Mutex::default(),
            exporter: Mutex::new(ProfileExporter::new(HELD)),
        })
    }

    /// Serves `connections` connections, each on a thread of its own.
    pub fn serve(&self, listener: &TcpListener, connections: usize) -> std::io::Result<()> {
        std::thread::scope(|scope| {
            for stream in listener.incoming().take(connections) {
                let stream = stream?;
                scope.spawn(|| self.converse(stream));
            }
            Ok(())
        })
    }

    /// Answers all requests of a connection. If the client goes away, nobody is left to hear of it.
    fn converse(&self, stream: TcpStream) -> Option<()> {
        let (mut from, mut to) = (BufReader::new(stream.try_clone().ok()?), stream);
        while let Some(Received { request, keeps_alive }) =
            read_request(&mut from, &mut to, &WireLimits::default()).ok()?
        {
            let path = request.path_with_query.unwrap_or_default();
            let span = request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("traceparent"));
            let span = span.and_then(|(_, value)| span_of(value));
            let response = self.answer(&path, span).unwrap_or_else(|e| Response::text(500, &e.to_string()));
            write_response(&mut to, &response, &request.method, keeps_alive).ok()?;
            if !keeps_alive {
                break;
            }
        }
        Some(())
    }

    /// Answers a request for a path, as a part of a trace.
    pub fn answer(&self, path: &str, span: Option<Span>) -> Result<Response, Error> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        match parts[..] {
            [] => Ok(typed("application/x-protobuf", lock(&self.exporter).take_otlp()?)),
            [tenant] => self.flame_graph(tenant),
            [tenant, function, n] => match n.parse() {
                Ok(n) if n > 0 => self.run(tenant, function, n, span),
                _ => Ok(Response::text(400, "what the plug-in is called with is a number above 0")),
            },
            _ => Ok(Response::text(404, "there is /TENANT/FUNCTION/N, /TENANT, and /")),
        }
    }

    /// Runs the plug-in for a tenant, in an instance of its own, as a part of a trace.
    fn run(&self, tenant: &str, function: &str, n: i32, span: Option<Span>) -> Result<Response, Error> {
        let limits = StoreLimitsBuilder::new().memory_size(MEMORY).instances(1).build();
        let mut store = Store::new(self.plugin.module().engine(), limits);
        store.limiter(|limits| limits);
        store.set_deadline(Some(Instant::now() + TIME))?;
        let instance = self.plugin.instantiate(&mut store)?;
        let Ok(function) = instance.get_typed_func::<i32, i32>(&mut store, function) else {
            return Ok(Response::text(404, "the plug-in can parse and render"));
        };
        let result = function.call(&mut store, n);
        // Who runs into a limit pays for what ran.
        if store.engine().config().profiles() {
            self.note(tenant, span, instance.profile(&store)?)?;
        }
        Ok(result.map_or_else(
            |e| Response::text(503, &e.to_string()),
            |sum| Response::text(200, &sum.to_string()),
        ))
    }

    /// Adds the profile of a request to those of its tenant.
    fn note(&self, tenant: &str, span: Option<Span>, profile: Profile) -> Result<(), Error> {
        let number = self.instances.fetch_add(1, Ordering::Relaxed).to_string();
        let origin = Origin::new([("tenant", tenant), ("instance", &number), ("service.name", "plug-ins")]);
        let origin = match span {
            Some((trace, span)) => origin.in_span(trace, span),
            None => origin,
        };
        lock(&self.exporter).add(origin, &profile)?;
        let mut tenants = lock(&self.tenants);
        match tenants.get_mut(tenant) {
            Some(known) => known.merge(&profile)?,
            None => drop(tenants.insert(tenant.to_owned(), profile)),
        }
        Ok(())
    }

    fn flame_graph(&self, tenant: &str) -> Result<Response, Error> {
        let tenants = lock(&self.tenants);
        let Some(profile) = tenants.get(tenant) else {
            return Ok(Response::text(404, "nothing has run for this tenant"));
        };
        let samples = Samples::new(profile, &CodeMap::default());
        let Some(metric) = samples.metric(None) else {
            return Ok(Response::text(404, "too little has run for this tenant"));
        };
        let mut image = Vec::new();
        write_flamegraph(&samples, metric, tenant, &mut image)?;
        Ok(typed("image/svg+xml", image))
    }
}

fn typed(content: &str, body: Vec<u8>) -> Response {
    let headers = vec![("content-type".to_owned(), content.as_bytes().to_vec())];
    Response { status: 200, headers, body, ..Response::default() }
}

#[allow(dead_code, reason = "a test includes this file for `Server`")]
fn main() -> Result<(), Error> {
    let server = Server::new(profiling())?;
    let listener = TcpListener::bind("127.0.0.1:8080")?;
    println!("http://localhost:8080/TENANT/render/1000");
    server.serve(&listener, usize::MAX)?;
    Ok(())
}
