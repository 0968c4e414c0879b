//! The command line teaches.

use super::wprof;

#[test]
fn every_command_has_help_with_an_example() {
    let commands = ["run", "report", "annotate", "explain", "merge", "export"];
    let all = wprof(&["--help"]).succeeded();
    for command in commands {
        assert!(all.contains(&format!("  {command} ")), "{all}");
        let help = wprof(&[command, "--help"]).succeeded();
        assert!(help.contains(&format!("\n  wprof {command} ")), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
}

#[test]
fn usage_errors_exit_with_2() {
    for args in [&["run"][..], &["run", "--no-such", "x"], &["fly"], &["run", "--max-memory", "1Q", "x"], &[]]
    {
        let ran = wprof(args);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
    }
}
