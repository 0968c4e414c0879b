//! The examples behave as they claim.

#[path = "../../examples/async_server.rs"]
mod async_server;
#[path = "../../examples/http_tenants.rs"]
mod http_tenants;
#[path = "../../examples/multi_tenant_profiles.rs"]
mod multi_tenant_profiles;
#[path = "../../examples/plugin_host.rs"]
mod plugin_host;
#[path = "../../examples/precompile.rs"]
mod precompile;

/// Sends a request on a connection of its own; gives the status and the body.
fn get(address: std::net::SocketAddr, path: &str) -> std::io::Result<(u16, Vec<u8>)> {
    use std::io::{BufReader, Write};
    let mut stream = std::net::TcpStream::connect(address)?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n")?;
    let limits = wprof::wasi2::http::WireLimits::default();
    let response = wprof::wasi2::http::read_response(&mut BufReader::new(stream), "GET", &limits);
    let response = response.map_err(|e| std::io::Error::other(e.to_string()))?;
    Ok((response.status, response.body))
}

#[test]
fn each_of_a_hundred_tenants_has_a_flame_graph() -> super::Outcome {
    const TENANTS: usize = 100;
    let server = http_tenants::Server::new(wprof::ProfilingConfig::exact().contexts())?;
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    // It is not waited for if the test fails: it would wait for the connections that are missing.
    let serving = std::thread::spawn(move || server.serve(&listener, TENANTS + 6));
    for tenant in 0..TENANTS {
        let function = if tenant % 3 == 0 { "render" } else { "parse" };
        let (status, body) = get(address, &format!("/t{tenant}/{function}/{}", 20 + tenant))?;
        let sum: i32 = String::from_utf8(body)?.trim().parse()?;
        assert!(status == 200 && sum >= 0, "{tenant}: {status} {sum}");
    }
    for (tenant, has, has_not) in [("t3", "render", "parse"), ("t4", "parse", "render")] {
        let (status, body) = get(address, &format!("/{tenant}"))?;
        let image = String::from_utf8(body)?;
        assert_eq!(status, 200);
        assert!(image.contains("<svg") && image.contains("digits"), "{tenant}");
        assert!(image.contains(has) && !image.contains(has_not), "{tenant}");
    }
    let (status, message) = get(address, "/")?;
    let has = |text: &str| message.windows(text.len()).any(|part| part == text.as_bytes());
    assert_eq!(status, 200);
    assert!(has("tenant") && has("t99") && has("instance") && has("digits"), "{} bytes", message.len());
    let (_, rest) = get(address, "/")?;
    assert!(rest.len() < message.len() / 10, "it was taken: {}", rest.len());
    for (path, status) in [("/nobody", 404), ("/t1/sing/1", 404)] {
        assert_eq!(get(address, path)?.0, status, "{path}");
    }
    serving.join().expect("it does not panic")?;
    Ok(())
}

#[test]
fn a_request_that_belongs_to_a_trace_says_so_in_the_profile() -> super::Outcome {
    use std::io::Write;
    let server = http_tenants::Server::new(wprof::ProfilingConfig::exact().contexts())?;
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let serving = std::thread::spawn(move || server.serve(&listener, 4));
    let (trace, span) = ([0x0a, 0xf7].repeat(8), [0xb7; 8]);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let taken = |parent: String| -> std::result::Result<Vec<u8>, Box<dyn std::error::Error>> {
        let mut stream = std::net::TcpStream::connect(address)?;
        let head = "GET /ada/render/50 HTTP/1.1\r\nhost: test\r\nconnection: close\r\n";
        write!(stream, "{head}traceparent: {parent}\r\n\r\n")?;
        let mut answer = Vec::new();
        std::io::Read::read_to_end(&mut stream, &mut answer)?;
        assert!(answer.starts_with(b"HTTP/1.1 200"));
        Ok(get(address, "/")?.1)
    };
    let has = |message: &[u8], id: &[u8]| message.windows(id.len()).any(|part| part == id);
    let message = taken(format!("00-{}-{}-01", hex(&trace), hex(&span)))?;
    assert!(has(&message, &trace) && has(&message, &span));
    let message = taken(format!("00-{}-nothing", hex(&trace)))?;
    assert!(has(&message, b"ada") && !has(&message, &trace), "it is no id of a span");
    serving.join().expect("it does not panic")?;
    Ok(())
}

/// Requests take a fraction of a second of processor time, and none has a burst for sure.
#[test]
fn tenants_have_flame_graphs_by_samples_too() -> super::Outcome {
    let server = http_tenants::Server::new(http_tenants::profiling())?;
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || server.serve(&listener, usize::MAX));
    for (tenant, function) in [("ada", "render"), ("bob", "parse")] {
        let has_graph = |_| -> std::result::Result<bool, Box<dyn std::error::Error>> {
            let status = get(address, &format!("/{tenant}/{function}/500000"))?.0;
            assert_eq!(status, 200);
            let (status, body) = get(address, &format!("/{tenant}"))?;
            let image = String::from_utf8(body)?;
            Ok(status == 200 && image.contains("<svg") && image.contains(function))
        };
        let mut tries = (0..50).map(has_graph);
        assert!(tries.any(|found| found.is_ok_and(|found| found)), "{tenant}");
    }
    let (status, message) = get(address, "/")?;
    let has = |text: &str| message.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(status == 200 && has("tenant") && has("ada") && has("bob") && has("render"));
    Ok(())
}

#[test]
fn plug_ins_keep_to_their_limits() {
    let expected = [
        "sum 1000: 500500, most in sum_to, logged [1]",
        "take 10: 1, most in take, logged []",
        "take 100: -1, most in take, logged []",
        "spin 0: stopped (wasm trap: deadline exceeded), most in spin, logged []",
        "sum 10: 55, most in sum_to, logged [1]",
    ];
    assert_eq!(plugin_host::serve().expect("all requests are answered"), expected);
}

#[test]
fn a_program_is_compiled_with_what_was_learned_and_runs_from_a_pool() {
    // 333 iterations of 3, 5 and 7, and one more of 5.
    let expected = [
        "2 functions are ready",
        "10: 50",
        "100: 500",
        "1000: 5000",
        "1 memory and 1 instance are kept for the next request",
    ];
    let said = precompile::compile_and_serve().expect("all is served");
    assert!(said[0].starts_with("learned from ") && said[0].ends_with(": 5000"), "{}", said[0]);
    assert_eq!(said[1..], expected);
}

#[test]
fn many_requests_wait_at_once_on_two_threads() {
    let (sum, at_once) = async_server::serve(500).expect("all are served");
    assert_eq!(sum, (0..500).map(|n| 2 * n + 1).sum::<i64>());
    assert_eq!(at_once, 500, "all have waited at the same time");
}

#[test]
fn tenants_have_profiles_of_their_own() {
    let lines = multi_tenant_profiles::serve(7).expect("all are served");
    assert_eq!(lines.len(), 7);
    for (tenant, line) in lines.iter().enumerate() {
        let hottest = if tenant % 3 == 0 { "render" } else { "parse" };
        assert!(line.starts_with(&format!("tenant {tenant}: ")) && line.ends_with(hottest), "{line}");
    }
    let same =
        |a: usize, b: usize| lines[a].split_once(':').map(|l| l.1) == lines[b].split_once(':').map(|l| l.1);
    assert!(same(0, 3) && same(1, 2) && !same(0, 1));
}
