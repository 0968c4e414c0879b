//! Pages can be used by everybody: axe-core (Deque's rules, mostly of WCAG 2.2) finds no fault in any view, light or
//! dark; what can be clicked can be reached with keys, and focus can be seen; on a phone nothing is wider than the page.
//! Without Chromium, or for its rules without axe-core (`scripts/setup`), the tests are skipped, with a note.

use std::path::Path;

use serde_json::Value;

use super::html::document;
use super::{Folder, program, wprof};

/// What looks for faults, in every view of a page.
const SCRIPT: &str = include_str!("accessibility.js");

/// Where `scripts/setup` puts axe-core.
const AXE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/readers/downloads/axe-core/axe.min.js");

/// The sizes of screens: of a desk, and of a phone.
const WIDE: &str = "--window-size=1400,900";
const PHONE: &str = "--window-size=390,844";

/// What the system prefers: Chromium's numbers for dark and light.
const SCHEMES: [&str; 2] =
    ["--blink-settings=preferredColorScheme=0", "--blink-settings=preferredColorScheme=1"];

/// Pages of all kinds of views: what is counted, what is sampled, and a difference of two runs.
fn pages(folder: &Folder) -> Vec<String> {
    let run = |name: &str, options: &[&str], rounds: &str| {
        let profile = folder.path(name);
        let module = program("json");
        wprof(&[&["run", "-q", "-o", &profile], options, &[&module, "8", rounds]].concat()).succeeded();
        profile
    };
    let counted = run("counted.wprof", &["--collect", "paths,cycles,cct,events=loads"], "1");
    let sampled = run("sampled.wprof", &["--burst", "100:50"], "1");
    let before = run("before.wprof", &["--collect", "edges,cct"], "1");
    let after = run("after.wprof", &["--collect", "edges,cct"], "3");
    let page = |profile: &str, more: &[&str]| {
        let page = profile.replace(".wprof", ".html");
        wprof(&[&["report", profile, "--html", &page], more].concat()).succeeded();
        page
    };
    vec![page(&counted, &[]), page(&sampled, &[]), page(&after, &["--diff", &before])]
}

/// What is wrong with a page in the eyes of some of the script's `looks`; nothing if there is no browser.
fn faults(page: &str, (looks, tools): (&str, &str), options: &[&str]) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(page).unwrap();
    let (head, rest) = text.split_once("<title>").expect("a title");
    let scripts = format!("<script>{tools};window.looks = {looks};</script><script>{SCRIPT}</script>");
    let copy = format!("{page}.tried.html");
    std::fs::write(&copy, format!("{head}{scripts}<title>{rest}")).unwrap();
    let options = [&["--virtual-time-budget=120000"], options].concat();
    let document = document(&options, &format!("file://{copy}"))?;
    let (_, found) = document.split_once("data-found=\"").expect("the script came to its end");
    let found = found.split('"').next().unwrap();
    let plain = [("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")];
    let found = plain.iter().fold(found.to_owned(), |text, (code, letter)| text.replace(code, letter));
    let found: Vec<Value> = serde_json::from_str(&found).expect("JSON");
    Some(found.iter().map(|fault| fault.as_str().expect("a text").to_owned()).collect())
}

fn assert_no_faults(looks: (&str, &str), options: &[&[&str]]) {
    let folder = Folder::new();
    for page in pages(&folder) {
        for options in options {
            let Some(found) = faults(&page, looks, options) else { return };
            assert!(found.is_empty(), "{page}, {options:?}:\n{}", found.join("\n"));
        }
    }
}

#[test]
fn axe_finds_no_fault_in_light_and_dark() {
    if !Path::new(AXE).exists() {
        super::tell_skipped("axe-core is not installed, scripts/setup does that");
        return;
    }
    let axe = std::fs::read_to_string(AXE).unwrap();
    let [dark, light] = SCHEMES;
    assert_no_faults(("['axe']", &axe), &[&[WIDE, dark], &[WIDE, light], &[PHONE, light]]);
}

#[test]
fn everything_is_reached_with_keys_and_shows_its_focus() {
    assert_no_faults(("['keys']", ""), &[&[WIDE]]);
}

#[test]
fn on_a_phone_names_keep_half_and_nothing_overflows() {
    assert_no_faults(("['room']", ""), &[&[PHONE], &[WIDE]]);
}

#[test]
fn faults_are_found() {
    let folder = Folder::new();
    let page = folder.file(
        "bad.html",
        "<!doctype html><html><head><title>bad</title></head><body><nav><a href='#overview'>O</a></nav><main>
        <section id='overview'><p style='width: 2000px'>wide</p><b id='b'>click</b>
        <button style='outline: none'>x</button></section></main>
        <script>document.getElementById('b').addEventListener('click', () => {});</script></body></html>",
    );
    let Some(found) = faults(&page, ("['keys', 'room']", ""), &[PHONE]) else { return };
    let has = |text: &str| found.iter().any(|fault| fault.contains(text));
    let kinds = [
        "cannot be reached by keyboard: b. click",
        "has no visible focus: button. x",
        "lies outside of the page",
    ];
    assert!(kinds.iter().all(|kind| has(kind)), "{found:?}");
}
