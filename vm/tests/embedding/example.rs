//! The example of a plug-in host does what it says.

#[path = "../../examples/plugin_host.rs"]
mod plugin_host;

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
