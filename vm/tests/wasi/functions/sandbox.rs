//! A program reaches only its folders, and changes only what it may.

use super::*;

/// Returns paths that seem to lead out of a folder. `above` is its parent, `outside` a file in the parent.
fn ways_out(above: &std::path::Path) -> Vec<String> {
    let absolute = above.join("outside").display().to_string();
    let mut ways: Vec<String> = [
        "..",
        "../outside",
        "../inside/../outside",
        "./../outside",
        "d/../../outside",
        "d/../../inside/../outside",
        "../inside/../../inside",
        "/",
        "/etc/passwd",
        "//etc/passwd",
        "link-above",
        "link-above/outside",
        "link-outside",
        "link-absolute",
        "link-chain",
        "d/link-up",
        "d/link-up/../outside",
        "link-root/etc/passwd",
        "link-proc",
        "link-proc/outside",
    ]
    .map(String::from)
    .into();
    ways.push(absolute);
    ways
}

fn playground() -> std::io::Result<tempfile::TempDir> {
    use std::os::unix::fs::symlink;
    let above = tempfile::tempdir()?;
    let inside = above.path().join("inside");
    std::fs::write(above.path().join("outside"), "secret")?;
    std::fs::create_dir_all(inside.join("d"))?;
    symlink("..", inside.join("link-above"))?;
    symlink("../outside", inside.join("link-outside"))?;
    symlink(above.path().join("outside"), inside.join("link-absolute"))?;
    symlink("d/link-up", inside.join("link-chain"))?;
    symlink("../../outside", inside.join("d/link-up"))?;
    symlink("/", inside.join("link-root"))?;
    symlink(format!("/proc/{}/cwd", std::process::id()), inside.join("link-proc"))?;
    Ok(above)
}

#[test]
fn no_path_leads_out_of_a_folder() -> Outcome {
    let above = playground()?;
    let mut program = Program::new(WasiCtxBuilder::new().preopened_dir(above.path().join("inside"), "/")?);
    program.create("mine", b"");
    for way in ways_out(above.path()) {
        for lookup in [0, 1] {
            for (oflags, rights) in [(0, READ), (0, WRITE), (CREAT, WRITE), (TRUNC, READ), (DIRECTORY, READ)]
            {
                let (at, len) = program.path(&way);
                let opened = program.call(|wasi, guest| {
                    wasi.path_open(guest, ROOT, lookup, at, len, oflags, rights, 0, 0, RESULT)
                });
                assert_ne!(opened, errno::SUCCESS, "{way} {lookup} {oflags}");
            }
        }
        assert!(program.stat(&way, 1).is_err(), "{way}");
        assert_ne!(program.link(0, "mine", &format!("{way}/new")), errno::SUCCESS, "{way}");
        assert_ne!(program.rename("mine", &format!("{way}/new")), errno::SUCCESS, "{way}");
        assert_ne!(program.create_directory(&format!("{way}/new")), errno::SUCCESS, "{way}");
        assert_ne!(program.symlink("mine", &format!("{way}/new")), errno::SUCCESS, "{way}");
        assert_ne!(program.unlink(format!("{way}/outside")), errno::SUCCESS, "{way}");
        assert_ne!(program.remove_directory(&format!("{way}/inside")), errno::SUCCESS, "{way}");
        let (at, len) = program.path(&way);
        let set = program.call(|wasi, guest| wasi.path_filestat_set_times(guest, ROOT, 1, at, len, 0, 0, 5));
        assert_ne!(set, errno::SUCCESS, "{way}");
    }
    // The text of a link reveals nothing outside, and an absolute link is refused.
    assert_ne!(
        program.readlink("link-absolute"),
        Ok(above.path().join("outside").display().to_string().into_bytes())
    );
    assert_ne!(program.symlink("/etc/passwd", "new-absolute"), errno::SUCCESS);
    // A link that leads up may be created, because the folder may be moved; it is not followed.
    if program.symlink("../outside", "new-up") == errno::SUCCESS {
        assert!(program.stat("new-up", 1).is_err());
    }
    assert_eq!(std::fs::read(above.path().join("outside"))?, b"secret");
    let mut names: Vec<_> = std::fs::read_dir(&above)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<_, _>>()?;
    names.sort();
    assert_eq!(names, ["inside", "outside"]);
    Ok(())
}

#[test]
fn a_folder_that_moves_while_it_is_used_lets_nobody_out() -> Outcome {
    let above = playground()?;
    let inside = above.path().join("inside");
    std::fs::create_dir_all(inside.join("a/b"))?;
    let mut program = Program::new(WasiCtxBuilder::new().preopened_dir(&inside, "/")?);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                // `a/b/../..` is `.` here, and the parent of the folder there.
                let _ = std::fs::rename(inside.join("a/b"), above.path().join("b"));
                let _ = std::fs::rename(above.path().join("b"), inside.join("a/b"));
            }
        });
        for _ in 0..2000 {
            for path in ["a/b/../../../outside", "a/b/../outside", "a/b/../../outside"] {
                let opened = program.open(path, 0, READ);
                if let Ok(fd) = opened {
                    assert_eq!(program.close(fd), errno::SUCCESS);
                }
                assert!(opened.is_err(), "{path}");
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    Ok(())
}

#[test]
fn nothing_is_changed_in_a_folder_that_is_read_only() -> Outcome {
    let folder = tempfile::tempdir()?;
    std::fs::create_dir_all(folder.path().join("d/e"))?;
    std::fs::write(folder.path().join("d/f"), "content")?;
    let before = std::fs::metadata(folder.path().join("d/f"))?.modified()?;
    let mut program = Program::new(WasiCtxBuilder::new().preopened_dir_read_only(&folder, "/")?);
    let file = program.open("d/f", 0, READ).expect("open");
    assert_eq!(program.read(file, 100), Ok(b"content".to_vec()));
    for (oflags, rights) in
        [(0, WRITE), (0, READ | WRITE), (CREAT, READ), (TRUNC, READ), (CREAT | EXCL, READ)]
    {
        assert_eq!(program.open("d/f", oflags, rights), Err(errno::PERM));
        assert_eq!(program.open("new", oflags, rights), Err(errno::PERM));
    }
    assert_eq!((program.create_directory("x"), program.remove_directory("d/e")), (errno::PERM, errno::PERM));
    assert_eq!((program.unlink("d/f"), program.rename("d/f", "g")), (errno::PERM, errno::PERM));
    assert_eq!((program.link(0, "d/f", "g"), program.symlink("d/f", "g")), (errno::PERM, errno::PERM));
    let (at, len) = program.path("d/f");
    let set = program.call(|wasi, guest| wasi.path_filestat_set_times(guest, ROOT, 0, at, len, 0, 0, 5));
    assert_eq!(set, errno::PERM);
    // A descriptor opened in the folder does not allow it either.
    let below = program.open("d", DIRECTORY, READ).expect("open");
    for fd in [file, below, ROOT] {
        assert_eq!(program.call(|wasi, guest| wasi.fd_filestat_set_times(guest, fd, 0, 0, 5)), errno::PERM);
    }
    assert_eq!(program.call(|wasi, guest| wasi.fd_filestat_set_size(guest, file, 0)), errno::BADF);
    assert_eq!(program.call(|wasi, guest| wasi.fd_allocate(guest, file, 0, 9999)), errno::BADF);
    let (at, len) = program.path("f");
    let opened = program.call(|wasi, guest| wasi.path_open(guest, below, 0, at, len, 0, WRITE, 0, 0, RESULT));
    assert_eq!(opened, errno::PERM);
    assert_eq!(program.call(|wasi, guest| wasi.path_unlink_file(guest, below, at, len)), errno::PERM);
    assert_eq!(std::fs::read(folder.path().join("d/f"))?, b"content");
    assert_eq!(std::fs::metadata(folder.path().join("d/f"))?.modified()?, before);
    Ok(())
}
