//! The examples behave as they claim.

#[path = "../../examples/async_server.rs"]
mod async_server;
#[path = "../../examples/multi_tenant_profiles.rs"]
mod multi_tenant_profiles;
#[path = "../../examples/plugin_host.rs"]
mod plugin_host;
#[path = "../../examples/precompile.rs"]
mod precompile;

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
