//! Target that calls WASI functions with arbitrary arguments.

use std::sync::LazyLock;

use wprof::wasi::{self, WasiCtxBuilder};
use wprof::{Engine, Linker, Module, Store, Val};

/// Functions of preview 1 with their parameters (`i`: i32, `l`: i64). `poll_oneoff`, which may wait as long as
/// requested, and functions that only end the program are omitted.
const FUNCTIONS: &[(&str, &str)] = &[
    ("args_get", "ii"),
    ("args_sizes_get", "ii"),
    ("environ_get", "ii"),
    ("environ_sizes_get", "ii"),
    ("clock_res_get", "ii"),
    ("clock_time_get", "ili"),
    ("fd_advise", "illi"),
    ("fd_allocate", "ill"),
    ("fd_close", "i"),
    ("fd_datasync", "i"),
    ("fd_fdstat_get", "ii"),
    ("fd_fdstat_set_flags", "ii"),
    ("fd_fdstat_set_rights", "ill"),
    ("fd_filestat_get", "ii"),
    ("fd_filestat_set_size", "il"),
    ("fd_filestat_set_times", "illi"),
    ("fd_pread", "iiili"),
    ("fd_prestat_get", "ii"),
    ("fd_prestat_dir_name", "iii"),
    ("fd_pwrite", "iiili"),
    ("fd_read", "iiii"),
    ("fd_readdir", "iiili"),
    ("fd_renumber", "ii"),
    ("fd_seek", "ilii"),
    ("fd_sync", "i"),
    ("fd_tell", "ii"),
    ("fd_write", "iiii"),
    ("path_create_directory", "iii"),
    ("path_filestat_get", "iiiii"),
    ("path_filestat_set_times", "iiiilli"),
    ("path_link", "iiiiiii"),
    ("path_open", "iiiiillii"),
    ("path_readlink", "iiiiii"),
    ("path_remove_directory", "iii"),
    ("path_rename", "iiiiii"),
    ("path_symlink", "iiiii"),
    ("path_unlink_file", "iii"),
    ("random_get", "ii"),
    ("sched_yield", ""),
    ("sock_accept", "iii"),
    ("sock_recv", "iiiiii"),
    ("sock_send", "iiiii"),
    ("sock_shutdown", "ii"),
];

/// A module with a wrapper for each function, which passes its parameters on.
static MODULE: LazyLock<Module> = LazyLock::new(|| {
    let engine = Engine::default();
    Module::new(&engine, text()).expect("a valid text")
});

fn text() -> String {
    let types = |params: &str| -> String {
        params.chars().map(|param| if param == 'l' { " i64" } else { " i32" }).collect()
    };
    let mut text = String::from("(module\n");
    for (name, params) in FUNCTIONS {
        let types = types(params);
        text += &format!(
            "(import \"wasi_snapshot_preview1\" \"{name}\" (func ${name} (param{types}) (result i32)))\n"
        );
    }
    text += "(memory (export \"memory\") 1 2)\n";
    for (name, params) in FUNCTIONS {
        let (types, gets) = (types(params), (0..params.len()).map(|i| format!("local.get {i} ")));
        let gets: String = gets.collect();
        text += &format!("(func (export \"{name}\") (param{types}) (result i32) {gets} call ${name})\n");
    }
    text + ")"
}

/// Choices read from bytes; zeros after the end.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// Returns a number that is often a descriptor, an address in the memory or its end.
    fn number(&mut self) -> u64 {
        let (kind, byte) = (self.byte(), u64::from(self.byte()));
        match kind % 8 {
            0..=2 => byte % 8,
            3..=4 => byte * 8,
            5 => (1 << 16) - byte % 24,
            6 => u64::MAX - byte % 16,
            _ => u64::from_le_bytes(std::array::from_fn(|_| self.byte())),
        }
    }
}

/// Makes some calls, with a folder in which they may do anything.
pub fn calls(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("file"), b"content").expect("a folder of ours");
    let mut builder = WasiCtxBuilder::new();
    builder.stdin_bytes(b"some input".to_vec());
    builder.arg("program").and_then(|b| b.env("NAME", "value")).expect("they are short");
    builder.preopened_dir(folder.path(), "/").expect("a folder of ours");
    let module = &*MODULE;
    let mut store = Store::new(module.engine(), builder.build());
    let mut linker = Linker::new(module.engine());
    wasi::add_to_linker(&mut linker, |ctx| ctx).expect("nothing is defined twice");
    let instance = linker.instantiate(&mut store, module).expect("all imports are there");
    let mut bytes = Bytes(bytes);
    let memory = instance.get_memory(&mut store, "memory").expect("exported");
    fill(memory.data_mut(&mut store), &mut bytes);
    while !bytes.0.is_empty() {
        let (name, params) = FUNCTIONS[usize::from(bytes.byte()) % FUNCTIONS.len()];
        let args: Vec<Val> = params
            .chars()
            .map(|param| match param {
                'l' => Val::I64(bytes.number() as i64),
                _ => Val::I32(bytes.number() as i32),
            })
            .collect();
        let func = instance.get_func(&mut store, name).expect("exported");
        // The call returns an error number, or traps for a bad pointer.
        let _ = func.call(&mut store, &args, &mut [Val::I32(0)]);
    }
}

/// Fills the memory with file names, buffer lists and the rest of the bytes.
fn fill(memory: &mut [u8], bytes: &mut Bytes<'_>) {
    memory[..20].copy_from_slice(b"file\0../../etc/hosts");
    for at in (32..256).step_by(4) {
        let number = bytes.number() as u32;
        memory[at..at + 4].copy_from_slice(&number.to_le_bytes());
    }
}
