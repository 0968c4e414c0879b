//! Exceptions, run by Node where it is there: what was caught, by which handler, and which frames ended.

use std::process::{Command, Stdio};

use wprof_instrument::{Collected, Options, RawCounters, instrument, javascript, read};
use wprof_profiler::{FunctionProfile, Profile};

/// Calls `run` and prints what it returns.
const APP: &str = "
const bytes = require('fs').readFileSync(process.argv[2]);
const check = (n) => { if (n % 7 === 3) throw new Error('from the host'); return n; };
WebAssembly.instantiate(bytes, { m: { check } }).then(({ instance }) => {
  console.log(instance.exports.run(20));
  try { instance.exports.fail(); } catch { console.log('failed'); }
});
";

/// `odd` throws for odd numbers, and calls the host, which throws for 3, 10, and 17 of 0..20. `run(n)` calls it for
/// all below n and counts what the two handlers get: 10 times `$odd`, and 10 of the host.
const CAUGHT: &str = r#"(module
  (tag $odd (param i32))
  (import "m" "check" (func $check (param i32) (result i32)))
  (func $odd (param i32) (result i32)
    (drop (call $check (local.get 0)))
    (if (i32.and (local.get 0) (i32.const 1)) (then (throw $odd (local.get 0))))
    (local.get 0))
  (func $through (param i32) (result i32) (call $odd (local.get 0)))
  (func (export "fail") (throw $odd (i32.const 1)))
  (func $run (export "run") (param $n i32) (result i32) (local $tagged i32) (local $other i32)
    (loop $next
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      TRY
      (br_if $next (local.get $n)))
    (i32.add (i32.mul (local.get $tagged) (i32.const 100)) (local.get $other))))"#;

const OLD: &str = "
      try
        local.get $n
        call $odd
        drop
        local.get $n
        call $through
        drop
      catch $odd
        drop
        (local.set $tagged (i32.add (local.get $tagged) (i32.const 1)))
      catch_all
        (local.set $other (i32.add (local.get $other) (i32.const 1)))
      end";

const NEW: &str = "
      (block $done
        (block $all
          (block $tag (result i32)
            (try_table (catch $odd $tag) (catch_all $all)
              (drop (call $odd (local.get $n)))
              (drop (call $through (local.get $n))))
            (br $done))
          (drop)
          (local.set $tagged (i32.add (local.get $tagged) (i32.const 1)))
          (br $done))
        (local.set $other (i32.add (local.get $other) (i32.const 1))))";

/// What Node prints, and the profile; `None` without Node, or if it does not know these exceptions.
fn run(wasm: &[u8], options: Options<'_>) -> Option<(String, Profile)> {
    let folder = std::env::temp_dir().join(format!("wprof-exceptions-{}-{options:?}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = |name: &str, content: &[u8]| {
        std::fs::write(folder.join(name), content).expect("the folder can be written");
        folder.join(name)
    };
    let new = instrument(wasm, options).expect("rewritten");
    let (script, app, new) =
        (file("w.cjs", javascript().as_bytes()), file("a.cjs", APP.as_bytes()), file("n.wasm", &new));
    let mut node = Command::new("node");
    node.arg("--require").args([&script, &app, &new]).env("WPROF_DIR", &folder).stderr(Stdio::piped());
    let ran = node.output().ok()?;
    let said = String::from_utf8(ran.stdout).expect("text");
    let counters = std::fs::read_dir(&folder).expect("the folder").map(|entry| entry.expect("a file").path());
    let counters = counters.filter(|path| path.extension().is_some_and(|kind| kind == "counters")).last();
    let counters = counters.map(|path| std::fs::read(path).expect("a file"));
    std::fs::remove_dir_all(&folder).expect("it goes away");
    let errors = String::from_utf8_lossy(&ran.stderr).into_owned();
    if counters.is_none() {
        assert!(errors.contains("CompileError"), "{errors}");
        println!("skipped: this version of Node does not know them: {errors}");
        return None;
    }
    let counters = RawCounters::from_bytes(&counters?).expect("counters");
    Some((said, read(wasm, &counters).expect("counts that add up").profile))
}

fn function(profile: &Profile, index: u32) -> &FunctionProfile {
    profile.function(index).expect("it ran")
}

#[test]
fn handlers_are_counted_by_who_threw_and_frames_that_ended_are_booked() {
    for (encoding, text) in [("older", OLD), ("newer", NEW)] {
        let wasm = wat::parse_str(CAUGHT.replace("TRY", text)).expect("text");
        for collected in [Collected::Edges, Collected::Paths] {
            let options = Options {
                collected,
                weights: None,
                exact_traps: false,
                single_memory: true,
                ..Options::default()
            };
            let Some((said, profile)) = run(&wasm, options) else { continue };
            // 3 and 17 are odd, too, but the host throws first.
            assert_eq!(said, "803\nfailed\n", "{encoding}");
            profile.verify().expect("a profile");
            let [odd, through, fail, run] = [1, 2, 3, 4].map(|index| function(&profile, index));
            // Those of $run itself that were caught did not call $through.
            assert_eq!([odd.calls(), through.calls(), fail.calls(), run.calls()], [29, 9, 1, 1]);
            assert!(run.exits.is_empty(), "{encoding}: {:?}", run.exits);
            // $odd ended 3 times in the host's function and 8 times at its throw.
            assert_eq!(odd.exits.iter().map(|exit| exit.count).collect::<Vec<_>>(), [3, 8]);
            assert_eq!(fail.exits.iter().map(|exit| exit.count).sum::<u64>(), 1);
            assert!(through.exits.is_empty());
            assert_eq!(profile.host_calls[0].count, 29);
        }
    }
}
