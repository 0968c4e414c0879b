//! What perf is told of machine code, read back, and by perf itself where it may record.

use std::process::{Command, Stdio};

use super::{Folder, command, program};

/// Runs a program in a folder, and gives its process id.
fn run(folder: &Folder, form: &str) -> u32 {
    let mut wprof = command(&["run", "-q", "--perf", form, &program("json"), "20", "2"]);
    wprof.current_dir(folder.path("")).stdout(Stdio::null());
    let mut child = wprof.spawn().expect("it starts");
    assert!(child.wait().unwrap().success());
    child.id()
}

#[test]
fn the_map_names_all_code() {
    let folder = Folder::new();
    let path = format!("/tmp/perf-{}.map", run(&folder, "map"));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let line = |line: &'_ str| -> (u64, u64, String) {
        let mut parts = line.splitn(3, ' ');
        let mut next = || parts.next().unwrap();
        let (start, size, name) = (number(next()), number(next()), next().to_owned());
        (start, size, name)
    };
    let mut lines: Vec<_> = text.lines().map(line).collect();
    lines.sort_unstable();
    assert!(lines.iter().all(|(_, size, _)| *size > 0));
    assert!(lines.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0), "no code lies over other code");
    for name in ["main", "parse_value", "print_value", "<host to wasm>", "<wasm to host>", "<trap>"] {
        assert!(lines.iter().any(|(_, _, found)| found == name), "{name}: {text}");
    }
}

/// A reader of numbers and text.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take(4).try_into().unwrap())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take(8).try_into().unwrap())
    }

    fn text(&mut self) -> String {
        let length = self.0.iter().position(|&byte| byte == 0).unwrap();
        let text = self.take(length).to_vec();
        self.take(1);
        String::from_utf8(text).unwrap()
    }
}

#[test]
fn the_jitdump_has_code_and_lines() {
    let folder = Folder::new();
    let pid = run(&folder, "jitdump");
    let file = std::fs::read(folder.path(&format!("jit-{pid}.dump"))).unwrap();
    let mut bytes = Bytes(&file);
    assert_eq!([0; 5].map(|_| bytes.u32()), [0x4a69_5444, 1, 40, 62, 0]);
    assert_eq!(bytes.u32(), pid);
    let (mut time, flags) = (bytes.u64(), bytes.u64());
    assert_eq!(flags, 0);
    let (mut lines, mut names, mut index) = (None, Vec::new(), 0);
    while !bytes.0.is_empty() {
        let (id, size) = (bytes.u32(), bytes.u32());
        let now = bytes.u64();
        assert!(now >= std::mem::replace(&mut time, now));
        let mut record = Bytes(bytes.take(size as usize - 16));
        if id == 2 {
            let (address, count) = (record.u64(), record.u64());
            let line = |_| (record.u64(), record.u32(), record.u32(), record.text());
            lines = Some((address, (0..count).map(line).collect::<Vec<_>>()));
        } else {
            assert_eq!((id, record.u32(), record.u32()), (0, pid, pid));
            let [vma, address, length, number] = [0; 4].map(|_| record.u64());
            assert_eq!((vma, number), (address, index));
            index += 1;
            names.push(record.text());
            assert_eq!(record.take(length as usize).len(), length as usize);
            if let Some((of, lines)) = lines.take() {
                assert_eq!(of, address);
                assert!(lines.is_sorted_by(|a, b| a.0 < b.0));
                assert!(lines.iter().all(|line| (address..address + length).contains(&line.0) && line.1 > 0));
                assert_eq!(
                    names.last().unwrap() == "parse_value",
                    lines[0].3.ends_with("json.c") && lines[0].1 == 146
                );
            }
        }
        assert!(record.0.is_empty());
    }
    assert!(names.iter().any(|name| name == "parse_value"), "{names:?}");
}

/// Where perf recorded a run; none if it may not record.
fn recorded(folder: &Folder, form: &str, options: &[&str]) -> Option<String> {
    let data = folder.path("perf.data");
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-k", "mono", "-e", "cpu-clock", "-F", "5000", "-o", &data]);
    perf.args(options).arg("--");
    // The number of the process names the map, which stays.
    perf.args(["sh", "-c", "echo $$ > pid; exec \"$@\"", "sh"]);
    perf.args([env!("CARGO_BIN_EXE_wprof"), "run", "-q", "--perf", form, &program("json"), "2000", "5"]);
    perf.current_dir(folder.path("")).stdout(Stdio::null()).stderr(Stdio::null());
    if !perf.status().is_ok_and(|status| status.success()) {
        super::tell_skipped("perf is not installed or may not record");
        return None;
    }
    Some(data)
}

fn report(data: &str) -> String {
    let report = Command::new("perf").args(["report", "--stdio", "-q", "-i", data]).output().unwrap();
    String::from_utf8_lossy(&report.stdout).into_owned()
}

#[test]
fn perf_names_functions_by_the_map() {
    let folder = Folder::new();
    let Some(data) = recorded(&folder, "map", &[]) else { return };
    let text = report(&data);
    let pid = std::fs::read_to_string(folder.path("pid")).unwrap();
    std::fs::remove_file(format!("/tmp/perf-{}.map", pid.trim())).unwrap();
    assert!(text.lines().any(|line| line.ends_with(" parse_value")), "{text}");
}

/// Perf follows frame pointers, which all functions keep, those too that call nothing.
#[test]
fn perf_finds_the_callers_of_functions() {
    let folder = Folder::new();
    let Some(data) = recorded(&folder, "map", &["-g"]) else { return };
    let script = Command::new("perf").args(["script", "-F", "ip,sym", "-i", &data]).output().unwrap();
    let text = String::from_utf8_lossy(&script.stdout).into_owned();
    let pid = std::fs::read_to_string(folder.path("pid")).unwrap();
    std::fs::remove_file(format!("/tmp/perf-{}.map", pid.trim())).unwrap();
    // A stack is a paragraph, innermost first, of lines with an address and a name.
    let stacks = text.split("\n\n").map(|stack| -> Vec<&str> {
        stack.lines().filter_map(|line| line.trim().split_once(' ')).map(|(_, name)| name.trim()).collect()
    });
    let is_of_program = |stack: &Vec<&str>| matches!(stack.first(), Some(&("parse_value" | "print_value")));
    let stacks: Vec<Vec<&str>> = stacks.filter(is_of_program).collect();
    let whole = stacks.iter().filter(|stack| stack.contains(&"main")).count();
    assert!(stacks.len() >= 10, "{text}");
    assert!(whole * 10 >= stacks.len() * 9, "{whole} of {} stacks have main: {stacks:?}", stacks.len());
}

#[test]
fn perf_names_functions_by_the_jitdump() {
    let folder = Folder::new();
    let Some(data) = recorded(&folder, "jitdump", &[]) else { return };
    let injected = folder.path("injected.data");
    let inject = ["inject", "--jit", "-i", &data, "-o", &injected];
    assert!(Command::new("perf").args(inject).current_dir(folder.path("")).status().unwrap().success());
    let text = report(&injected);
    assert!(text.lines().any(|line| line.ends_with(" parse_value")), "{text}");
}

#[test]
fn a_file_that_cannot_be_created_is_an_error_before_the_run() {
    let folder = Folder::new();
    let none = folder.path("none");
    std::fs::create_dir(&none).unwrap();
    let script = "cd \"$1\" && rmdir \"$1\" && exec \"$0\" run -q --perf jitdump \"$2\"";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_wprof"), &none, &program("hello")])
        .output();
    let ran = super::Ran::from(output.unwrap());
    assert_eq!(ran.out, "");
    assert!(ran.failed().contains("cannot create the file for perf"));
}
