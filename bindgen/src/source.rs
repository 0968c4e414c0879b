//! The world in its WIT files.

use std::path::{Path, PathBuf};

use wit_parser::{PackageId, Resolve, WorldId};

use crate::Error;
use crate::options::Options;

/// A world, and the files that it was read from.
pub struct Source {
    pub resolve: Resolve,
    pub world: WorldId,
    pub files: Vec<PathBuf>,
}

/// Reads the WIT, and finds the world.
///
/// # Errors
/// Fails if the WIT cannot be read, or has no such world.
pub fn load(options: &Options, folder: &Path) -> Result<Source, Error> {
    let mut resolve = Resolve::default();
    let (mut package, mut files) = (None, Vec::new());
    // Without text and path it is the usual folder.
    let usual = options.inline.is_none().then_some("wit");
    if let Some(path) = options.path.as_deref().or(usual) {
        let path = folder.join(path);
        check_path(&path, options)?;
        let pushed = resolve.push_path(&path);
        let (found, sources) = pushed.map_err(|error| Error::Wit(resolve.render_error(&error)))?;
        package = Some(found);
        // The compiler needs absolute paths.
        files = sources.paths().map(|file| file.canonicalize().unwrap_or_else(|_| file.to_owned())).collect();
    }
    if let Some(text) = &options.inline {
        let pushed = resolve.push_source("inline", text);
        package = Some(pushed.map_err(|error| Error::Wit(resolve.render_error(&error)))?);
    }
    let world = world(&resolve, package, options.world.as_deref())?;
    Ok(Source { resolve, world, files })
}

/// Fails unless there is something at a path.
fn check_path(path: &Path, options: &Options) -> Result<(), Error> {
    if path.exists() {
        return Ok(());
    }
    let advice = match options.path {
        Some(_) => "`path` is relative to the folder of Cargo.toml",
        None => "give the file or folder with `path`",
    };
    Err(Error::Wit(format!("there is no WIT at {}: {advice}", path.display())))
}

/// Finds a world by its name, such as `w` or `a:b/w@1.0.0`, in the package, or in any if the name has a package.
fn world(resolve: &Resolve, package: Option<PackageId>, name: Option<&str>) -> Result<WorldId, Error> {
    let packages: Vec<PackageId> = package.into_iter().collect();
    let selected = resolve.select_world(&packages, name);
    selected.map_err(|error| {
        let own = packages.iter().flat_map(|id| resolve.packages[*id].worlds.keys());
        let own: Vec<String> = own.map(|name| format!("`{name}`")).collect();
        let list = if own.is_empty() { "none".to_owned() } else { own.join(", ") };
        match name {
            Some(name) if own.len() != 1 || !name.contains(['/', ':']) => {
                Error::Wit(format!("there is no world `{name}`: the package has {list}"))
            }
            None if own.len() != 1 => {
                Error::Wit(format!("give the name of a world with `world`: the package has {list}"))
            }
            _ => Error::Wit(format!("{error:#}: the package has {list}")),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the error for options.
    fn why(options: &Options) -> String {
        crate::generate(options, Path::new(env!("CARGO_MANIFEST_DIR"))).expect_err("it fails").to_string()
    }

    fn inline(text: &str, world: Option<&str>) -> Options {
        let (inline, world) = (Some(text.to_owned()), world.map(str::to_owned));
        Options { inline, world, ..Options::default() }
    }

    #[test]
    fn errors_say_which_worlds_there_are() {
        let two = "package a:b; world one {} world two {}";
        assert_eq!(
            why(&inline(two, Some("three"))),
            "there is no world `three`: the package has `one`, `two`"
        );
        let error = why(&inline(two, None));
        assert_eq!(error, "give the name of a world with `world`: the package has `one`, `two`");
        assert_eq!(why(&inline("package a:b;", Some("w"))), "there is no world `w`: the package has none");
    }

    #[test]
    fn errors_say_where_there_is_no_wit() {
        let error = why(&Options { path: Some("nowhere".to_owned()), ..Options::default() });
        assert!(error.contains("/nowhere: `path` is relative to the folder of Cargo.toml"), "{error}");
        assert!(why(&Options::default()).contains("give the file or folder with `path`"));
    }

    #[test]
    fn errors_of_wit_have_their_place() {
        let error = why(&inline("package a:b;\nworld w { import f: func(x: nothing); }", None));
        assert!(error.contains("nothing") && error.contains("inline:2:"), "{error}");
    }

    #[test]
    fn what_is_not_supported_is_named() {
        for (text, what) in [
            ("package a:b; world w { import f: async func(); }", "async"),
            ("package a:b; world w { import f: func(x: stream<u8>); }", "stream"),
            ("package a:b; world w { import f: func(x: map<u8, u8>); }", "map"),
        ] {
            let error = why(&inline(text, None));
            assert!(error.contains(what) && error.contains("not supported yet"), "{text}: {error}");
        }
    }

    #[test]
    fn options_that_name_nothing_are_refused() {
        let text = "package a:b; interface i { f: func(); } world w { import i; }";
        let mut options = inline(text, None);
        options.skip = vec!["a:c".to_owned()];
        assert_eq!(why(&options), "`skip` names `a:c`, which the world does not use: it uses `a:b/i`");
        let mut options = inline(text, None);
        options.with.insert("a:b/i.r".to_owned(), "R".to_owned());
        assert!(why(&options).starts_with("`with` names `a:b/i.r`"));
    }
}
