//! Source lines from a source map: the file that a section `sourceMappingURL` names, or the content of a `data:`
//! URL in that section.
//!
//! Source: ECMA-426, *Source map format specification*, section 9. For WebAssembly the generated line of a
//! mapping is 0, and its column is the byte offset in the module. Maps contain no functions, and index maps (of
//! several sections) are not read. Bad data is ignored: the mappings before it hold.

use std::ops::Range;

use serde::Deserialize;
use wprof_jit::module::ModuleInfo;

use super::{Beside, FrameSymbol, Rows, SourceRow, data_url, debug_files};

/// The section that names a source map.
pub const SOURCE_MAP: &str = "sourceMappingURL";

/// The mappings of one module.
#[derive(Debug, Default)]
pub struct SourceMap {
    files: Vec<String>,
    /// Ascending by offset; each mapping holds up to the next one.
    mappings: Vec<Mapping>,
}

/// The code from `offset` on comes from `place`, or from no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mapping {
    offset: u32,
    place: Option<Place>,
}

/// File, line and column, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    file: i64,
    line: i64,
    column: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    version: u32,
    source_root: Option<String>,
    sources: Vec<Option<String>>,
    mappings: String,
}

impl SourceMap {
    /// Reads the map of a module, if there is one. `beside` says where files are, if the module is from a file.
    pub fn find(info: &ModuleInfo, beside: Option<Beside<'_>>) -> Option<SourceMap> {
        let own = debug_files::named(info, SOURCE_MAP).and_then(data_url::content);
        let text = own.or_else(|| debug_files::read(info, SOURCE_MAP, beside?))?;
        let (files, mappings) = parse(&text)?;
        let mut map = SourceMap { files, mappings: Vec::new() };
        map.keep_code(info, mappings);
        Some(map)
    }

    /// Keeps the mappings of function bodies; the last mapping of a body ends with the body.
    fn keep_code(&mut self, info: &ModuleInfo, mut mappings: Vec<Mapping>) {
        mappings.sort_by_key(|mapping| mapping.offset);
        let mut body = 0..0;
        for mapping in mappings {
            let offset = mapping.offset as usize;
            let Some(func) = info.func_at(offset) else { continue };
            if !body.contains(&offset) {
                self.end(&body);
                body = info.body(func);
            }
            self.mappings.push(mapping);
        }
        self.end(&body);
    }

    fn end(&mut self, body: &std::ops::Range<usize>) {
        if let (Ok(offset), false) = (u32::try_from(body.end), body.is_empty()) {
            self.mappings.push(Mapping { offset, place: None });
        }
    }

    /// Returns the place that the code at byte `offset` comes from.
    pub fn at(&self, offset: u32) -> Option<FrameSymbol> {
        let next = self.mappings.partition_point(|mapping| mapping.offset <= offset);
        let place = self.mappings[..next].last()?.place?;
        let (file, line) = self.line(place)?;
        let column = u32::try_from(place.column.saturating_add(1)).ok();
        Some(FrameSymbol { name: None, file: Some(file.to_owned()), line: Some(line), column })
    }

    /// Returns all mappings as a line table.
    pub fn rows(&self) -> Vec<SourceRow> {
        self.rows_in(0..u32::MAX)
    }

    /// Returns the line table of the code in a range of offsets.
    pub fn rows_in(&self, range: Range<u32>) -> Vec<SourceRow> {
        let mut rows = Rows::default();
        // The row before the range extends into it.
        let next = self.mappings.partition_point(|mapping| mapping.offset <= range.start);
        let mappings = &self.mappings[next.saturating_sub(1)..];
        for mapping in mappings.iter().take_while(|mapping| mapping.offset < range.end) {
            rows.push(mapping.offset.into(), mapping.place.and_then(|place| self.line(place)));
        }
        rows.rows
    }

    fn line(&self, place: Place) -> Option<(&str, u32)> {
        let file = self.files.get(usize::try_from(place.file).ok()?)?;
        Some((file, u32::try_from(place.line.checked_add(1)?).ok().filter(|&line| line > 0)?))
    }
}

/// Limit of the total length of all file names, per byte of the map. The root precedes each name, so a map with a
/// long root and many sources would take memory that grows with the square of its size; such a map is not read.
const MOST_EXPANSION: usize = 16;

/// Parses a map's text into its files and mappings.
fn parse(text: &[u8]) -> Option<(Vec<String>, Vec<Mapping>)> {
    // A first line with this prefix keeps browsers from running the map as a script.
    let text = match text.starts_with(b")]}") {
        true => text.splitn(2, |&byte| byte == b'\n').nth(1)?,
        false => text,
    };
    let file: File = serde_json::from_slice(text).ok().filter(|file: &File| file.version == 3)?;
    let root = file.source_root.unwrap_or_default();
    if root.len().saturating_mul(file.sources.len()) > MOST_EXPANSION * text.len() {
        return None;
    }
    let name = |source: Option<String>| joined(&root, &source.unwrap_or_default());
    Some((file.sources.into_iter().map(name).collect(), mappings(&file.mappings)))
}

/// Joins a source to the root, a folder with or without a final slash; an absolute source is returned unchanged.
fn joined(root: &str, source: &str) -> String {
    let is_absolute = source.starts_with('/') || source.contains("://");
    match root.is_empty() || is_absolute {
        true => source.to_owned(),
        false => format!("{}/{source}", root.strip_suffix('/').unwrap_or(root)),
    }
}

/// Returns the mappings of the first line, up to the first invalid one.
fn mappings(text: &str) -> Vec<Mapping> {
    let (mut mappings, mut offset, mut place) = (Vec::new(), 0_i64, Place::default());
    for segment in text.split(';').next().unwrap_or_default().split(',') {
        let Some(fields) = numbers(segment) else { break };
        let place = match fields[..] {
            [column] => {
                offset = offset.saturating_add(column);
                None
            }
            [column, file, line, source_column, ..] => {
                offset = offset.saturating_add(column);
                place = Place {
                    file: place.file.saturating_add(file),
                    line: place.line.saturating_add(line),
                    column: place.column.saturating_add(source_column),
                };
                Some(place)
            }
            _ => break,
        };
        let Ok(offset) = u32::try_from(offset) else { break };
        mappings.push(Mapping { offset, place });
    }
    mappings
}

/// Decodes the numbers of a segment: base 64 VLQ with five bits a digit, the least significant first; the sixth
/// bit marks that more digits follow. The lowest bit of a number is its sign.
fn numbers(segment: &str) -> Option<Vec<i64>> {
    let (mut numbers, mut value, mut shift) = (Vec::new(), 0_i64, 0);
    for digit in segment.bytes().map(data_url::sextet) {
        let digit = i64::from(digit?);
        // A number has at most 32 bits.
        value |= (digit & 31).checked_shl(shift).filter(|_| shift <= 30)?;
        shift += 5;
        if digit & 32 == 0 {
            numbers.push(if value & 1 == 0 { value >> 1 } else { -(value >> 1) });
            (value, shift) = (0, 0);
        }
    }
    (shift == 0).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_the_specification_has_them() {
        assert_eq!(numbers("AAAA"), Some(vec![0, 0, 0, 0]));
        assert_eq!(numbers("CDgB"), Some(vec![1, -1, 16]));
        assert_eq!(numbers("//////D"), Some(vec![-2_147_483_647]));
        assert_eq!(numbers("g"), None, "more must follow");
        assert_eq!(numbers("gggggggggg"), None, "too large");
        assert_eq!(numbers("A?"), None);
    }

    #[test]
    fn the_root_is_a_folder_for_relative_sources() {
        let cases = [
            ("", "a.c"),
            ("/src", "a.c"),
            ("src/", "b/a.c"),
            ("/", "a.c"),
            ("src", "/a.c"),
            ("src", "webpack://a.c"),
        ];
        let expected = ["a.c", "/src/a.c", "src/b/a.c", "/a.c", "/a.c", "webpack://a.c"];
        assert_eq!(cases.map(|(root, source)| joined(root, source)), expected);
    }

    #[test]
    fn mappings_are_relative_to_those_before() {
        let mapped =
            |offset, file, line, column| Mapping { offset, place: Some(Place { file, line, column }) };
        let unmapped = Mapping { offset: 14, place: None };
        let expected = [mapped(10, 0, 1, 2), mapped(13, 0, 2, 1), unmapped, mapped(16, -1, 0, 1)];
        assert_eq!(mappings("UACE,GACD,C,EDFA"), expected);
        assert_eq!(mappings("UAAA,?,CAAA").len(), 1, "damage ends it");
        assert_eq!(mappings("UAAA;CAAA").len(), 1, "code is one line");
        assert_eq!(mappings(""), []);
    }

    #[test]
    fn no_text_is_too_strange() {
        let mut seed = 1_u32;
        for length in 0..2000 {
            let mut random = || {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                b"+/gDAZ9,,;!"[(seed >> 16) as usize % 11] as char
            };
            let text: String = (0..length % 60).map(|_| random()).collect();
            let map = SourceMap { files: vec!["a".to_owned()], mappings: mappings(&text) };
            let found = (0..40).filter_map(|offset| map.at(offset)).all(|symbol| symbol.line() > Some(0));
            assert!(found && map.rows().len() <= map.mappings.len());
        }
    }

    #[test]
    fn names_do_not_grow_with_the_square_of_the_map() {
        let map = |root: usize, sources: usize| {
            let (root, sources) = ("a/".repeat(root), vec![r#""b.ts""#; sources].join(","));
            let text =
                format!(r#"{{"version":3,"sourceRoot":"{root}","sources":[{sources}],"mappings":"UAAA"}}"#);
            (text.len(), parse(text.as_bytes()))
        };
        let (_, usual) = map(20, 2000);
        assert_eq!(usual.unwrap().0.len(), 2000);
        for size in [1000, 2000] {
            assert!(map(size, size).1.is_none(), "{size}");
            let (length, parsed) = map(50, size);
            let names: usize = parsed.unwrap().0.iter().map(String::len).sum();
            assert!(names < 20 * length);
        }
    }

    #[test]
    fn only_maps_of_version_3_are_read() {
        let map = |version| {
            format!(
                r#"{{"version":{version},"sourceRoot":"src/","sources":["a.ts",null],"mappings":"UAAA"}}"#
            )
        };
        let (files, mappings) = parse(map(3).as_bytes()).unwrap();
        assert_eq!((files[0].as_str(), mappings.len()), ("src/a.ts", 1));
        assert_eq!(parse(format!(")]}}'\n{}", map(3)).as_bytes()).unwrap().0, files);
        assert!(parse(map(2).as_bytes()).is_none() && parse(b"").is_none() && parse(b"{}").is_none());
    }
}
