//! `wprof view` writes a page and opens it; where there is no browser, it says where the page is.

use std::os::unix::fs::PermissionsExt;

use super::{Folder, Ran, command};

/// A browser that notes what it is asked to open, then ends with this code.
fn browser(folder: &Folder, code: u8) -> String {
    let opened = folder.path("opened");
    let path = folder.file("browser", format!("#!/bin/sh\necho \"$@\" > {opened}\nexit {code}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// `wprof view` of a small profile, in an environment without a desktop.
fn view(folder: &Folder, args: &[&str], variable: Option<&str>) -> Ran {
    let profile = folder.count_profile();
    let mut command = command(&[&["view", profile.as_str()], args].concat());
    command.env("TMPDIR", folder.path("")).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    match variable {
        Some(browser) => command.env("BROWSER", browser),
        None => command.env_remove("BROWSER"),
    };
    command.output().expect("it starts").into()
}

/// The page that was named on standard output.
fn page(ran: &Ran) -> String {
    let path = ran.out.trim_end();
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}: {ran:?}"));
    assert!(text.contains("<!doctype html>") && text.contains("is_odd"), "{path}: {text}");
    path.to_owned()
}

/// What the browser was asked to open.
fn opened(folder: &Folder) -> String {
    std::fs::read_to_string(folder.path("opened")).unwrap().trim_end().to_owned()
}

#[test]
fn the_page_is_opened_by_the_command_that_was_asked_for() {
    let folder = Folder::new();
    let command = format!("{} --new-window", browser(&folder, 0));
    let ran = view(&folder, &["--browser", &command], None);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(opened(&folder), format!("--new-window {}", page(&ran)));
    let command = format!("{} %s --kiosk", browser(&folder, 0));
    let ran = view(&folder, &["--browser", &command], None);
    assert_eq!(opened(&folder), format!("{} --kiosk", page(&ran)));
}

#[test]
fn the_page_is_opened_by_the_users_browser() {
    let folder = Folder::new();
    // As other programs read it: several commands, of which the first that works is taken.
    let variable = format!("/no/such/browser:{}", browser(&folder, 0));
    let ran = view(&folder, &[], Some(&variable));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(opened(&folder), page(&ran));
}

#[test]
fn without_a_browser_the_path_is_shown() {
    let folder = Folder::new();
    for variable in [None, Some("/no/such/browser")] {
        let ran = view(&folder, &[], variable);
        assert!(ran.code == Some(0) && ran.err.contains("found no browser"), "{ran:?}");
        page(&ran);
    }
}

#[test]
fn a_browser_that_fails_is_an_error() {
    let folder = Folder::new();
    let failing = browser(&folder, 7);
    let said = view(&folder, &["--browser", &failing], None);
    assert!(said.code == Some(1) && said.err.contains("failed: exit status: 7"), "{said:?}");
    page(&said);
    let said = view(&folder, &["--browser", "/no/such/browser"], None).failed_with_page();
    assert!(said.contains("cannot start the browser `/no/such/browser`"), "{said}");
}

#[test]
fn the_page_can_be_kept_in_a_file_and_compared() {
    let folder = Folder::new();
    let (page, before) = (folder.path("page.html"), folder.count_profile());
    let ran = view(&folder, &["-o", &page, "--diff", &before], None);
    assert_eq!((ran.code, ran.out.trim_end()), (Some(0), page.as_str()), "{ran:?}");
    assert!(std::fs::read_to_string(&page).unwrap().contains("<!doctype html>"));
    let said = view(&folder, &["-o", "/dev/full"], None).failed();
    assert!(said.contains("No space left"), "{said}");
}

impl Ran {
    /// Checks that it failed in good order behind a page that was written, and gives what it said.
    fn failed_with_page(self) -> String {
        page(&self);
        self.failed()
    }
}
