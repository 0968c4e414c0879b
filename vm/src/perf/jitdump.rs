//! The jitdump file: code, names and lines in binary records.
//!
//! Source: `tools/perf/Documentation/jitdump-specification.txt` in Linux, version 1. Perf finds the file because
//! a page of it is mapped executable when it is created. Records carry the clock of `perf record -k mono`.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use super::{Placed, create};
use crate::runtime::instances::jitdump_page::{Marker, monotonic_ns};

const MAGIC: u32 = 0x4a69_5444;
const VERSION: u32 = 1;
const HEAD_BYTES: u32 = 40;
const MACHINE_X86_64: u32 = 62;

const CODE_LOAD: u32 = 0;
const DEBUG_INFO: u32 = 2;
/// Identifier, size and time.
const RECORD_HEAD_BYTES: u32 = 16;

/// A jitdump under construction.
#[derive(Debug)]
pub(super) struct Jitdump {
    file: File,
    next_index: u64,
    _marker: Marker,
}

impl Jitdump {
    pub(super) fn create() -> io::Result<Jitdump> {
        let mut file = create(&PathBuf::from(format!("jit-{}.dump", std::process::id())))?;
        let mut head = Vec::new();
        for number in [MAGIC, VERSION, HEAD_BYTES, MACHINE_X86_64, 0, std::process::id()] {
            head.extend(number.to_le_bytes());
        }
        head.extend(monotonic_ns().to_le_bytes());
        head.extend(0_u64.to_le_bytes());
        file.write_all(&head)?;
        let marker = Marker::new(&file)?;
        Ok(Jitdump { file, next_index: 0, _marker: marker })
    }

    /// Appends the records of a function; its lines precede its code.
    pub(super) fn add(&mut self, placed: &Placed<'_>) -> io::Result<()> {
        let mut records = Vec::new();
        if !placed.lines.is_empty() {
            add_record(&mut records, DEBUG_INFO, &debug_info(placed));
        }
        add_record(&mut records, CODE_LOAD, &code_load(placed, self.next_index));
        self.next_index += 1;
        self.file.write_all(&records)
    }
}

fn add_record(bytes: &mut Vec<u8>, id: u32, content: &[u8]) {
    bytes.extend(id.to_le_bytes());
    bytes.extend((RECORD_HEAD_BYTES + content.len() as u32).to_le_bytes());
    bytes.extend(monotonic_ns().to_le_bytes());
    bytes.extend(content);
}

fn code_load(placed: &Placed<'_>, index: u64) -> Vec<u8> {
    let mut content = Vec::new();
    let process = std::process::id().to_le_bytes();
    // The thread does not matter, because all threads share the code.
    content.extend([process, process].concat());
    for number in [placed.address, placed.address, placed.bytes.len() as u64, index] {
        content.extend(number.to_le_bytes());
    }
    add_text(&mut content, placed.name);
    content.extend(placed.bytes);
    content
}

fn debug_info(placed: &Placed<'_>) -> Vec<u8> {
    let mut content = Vec::new();
    content.extend(placed.address.to_le_bytes());
    content.extend((placed.lines.len() as u64).to_le_bytes());
    for (offset, file, line) in &placed.lines {
        content.extend((placed.address + u64::from(*offset)).to_le_bytes());
        content.extend(line.to_le_bytes());
        content.extend(0_u32.to_le_bytes());
        add_text(&mut content, file);
    }
    content
}

/// Appends the text up to its first zero byte, and a terminating zero byte.
fn add_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend(text.bytes().take_while(|&byte| byte != 0));
    bytes.push(0);
}
