//! The functions of WASI preview 1, called as an engine calls them, but without an engine: their results, and the
//! memory that they write.

mod descriptors;
mod files;
mod folders;
mod paths;
mod poll;
mod sandbox;
mod sockets;
mod structures;

use wprof::Result;
use wprof::wasi::{Guest, Preview, Wasi, WasiCtx, WasiCtxBuilder};

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// WASI's error numbers.
mod errno {
    pub const SUCCESS: u32 = 0;
    pub const AGAIN: u32 = 6;
    pub const BADF: u32 = 8;
    pub const EXIST: u32 = 20;
    pub const INVAL: u32 = 28;
    pub const ISDIR: u32 = 31;
    pub const LOOP: u32 = 32;
    pub const MFILE: u32 = 33;
    pub const NAMETOOLONG: u32 = 37;
    pub const NOENT: u32 = 44;
    pub const NOSPC: u32 = 51;
    pub const NOTCONN: u32 = 53;
    pub const NOTDIR: u32 = 54;
    pub const NOTEMPTY: u32 = 55;
    pub const NOTSOCK: u32 = 57;
    pub const NOTSUP: u32 = 58;
    pub const PERM: u32 = 63;
    pub const SPIPE: u32 = 70;
}

const READ: u64 = 1 << 1;
const WRITE: u64 = 1 << 6;
const CREAT: u32 = 1;
const DIRECTORY: u32 = 2;
const EXCL: u32 = 4;
const TRUNC: u32 = 8;

/// The memory content where nothing was written.
const UNTOUCHED: u8 = 0xaa;

/// The address to which functions write.
const RESULT: u32 = 1 << 12;
/// The address of a function's second output.
const RESULT2: u32 = RESULT + 64;
const PATH: u32 = 2 << 12;
const PATH2: u32 = 4 << 12;
const VECTOR: u32 = 6 << 12;
/// The address of buffers and lists.
const BUFFER: u32 = 8 << 12;
const SIZE: usize = 1 << 20;

/// The first preopened folder.
const ROOT: u32 = 3;

/// A program: its view of the system, and its memory.
struct Program {
    ctx: WasiCtx,
    memory: Vec<u8>,
    preview: Preview,
}

impl Program {
    fn new(builder: &mut WasiCtxBuilder) -> Program {
        Program { ctx: builder.build(), memory: vec![UNTOUCHED; SIZE], preview: Preview::One }
    }

    /// Creates a program with a folder.
    fn within(folder: &tempfile::TempDir) -> Program {
        Program::new(WasiCtxBuilder::new().preopened_dir(folder, "/").expect("it can be opened"))
    }

    /// Calls a function.
    fn try_call(&mut self, call: impl FnOnce(&mut dyn Wasi, &mut Guest<'_>) -> Result<u32>) -> Result<u32> {
        let mut guest = Guest::new(&mut self.memory, self.preview);
        call(self.ctx.functions(), &mut guest)
    }

    /// Calls a function that does not end the program.
    fn call(&mut self, call: impl FnOnce(&mut dyn Wasi, &mut Guest<'_>) -> Result<u32>) -> u32 {
        self.try_call(call).expect("the program goes on")
    }

    fn put(&mut self, at: u32, bytes: &[u8]) -> (u32, u32) {
        self.memory[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
        (at, bytes.len() as u32)
    }

    fn path(&mut self, path: impl AsRef<[u8]>) -> (u32, u32) {
        self.put(PATH, path.as_ref())
    }

    fn path2(&mut self, path: impl AsRef<[u8]>) -> (u32, u32) {
        self.put(PATH2, path.as_ref())
    }

    fn bytes(&self, at: u32, len: u32) -> &[u8] {
        &self.memory[at as usize..(at + len) as usize]
    }

    fn u16(&self, at: u32) -> u16 {
        u16::from_le_bytes(self.bytes(at, 2).try_into().expect("two bytes"))
    }

    fn u32(&self, at: u32) -> u32 {
        u32::from_le_bytes(self.bytes(at, 4).try_into().expect("four bytes"))
    }

    fn u64(&self, at: u32) -> u64 {
        u64::from_le_bytes(self.bytes(at, 8).try_into().expect("eight bytes"))
    }

    /// Opens a file without following links.
    fn open_with(
        &mut self,
        path: impl AsRef<[u8]>,
        oflags: u32,
        rights: u64,
        flags: u32,
    ) -> Result<u32, u32> {
        let (at, len) = self.path(path);
        match self
            .call(|wasi, guest| wasi.path_open(guest, ROOT, 0, at, len, oflags, rights, 0, flags, RESULT))
        {
            errno::SUCCESS => Ok(self.u32(RESULT)),
            errno => Err(errno),
        }
    }

    fn open(&mut self, path: impl AsRef<[u8]>, oflags: u32, rights: u64) -> Result<u32, u32> {
        self.open_with(path, oflags, rights, 0)
    }

    fn create(&mut self, path: &str, content: &[u8]) -> u32 {
        let fd = self.open(path, CREAT, READ | WRITE).expect("a file");
        assert_eq!(self.write(fd, content), Ok(content.len() as u32));
        fd
    }

    /// Writes a list of one buffer.
    fn vector(&mut self, len: u32) -> u32 {
        self.put(VECTOR, &[BUFFER.to_le_bytes(), len.to_le_bytes()].concat()).0
    }

    fn result(&self, errno: u32) -> Result<u32, u32> {
        if errno == errno::SUCCESS { Ok(self.u32(RESULT)) } else { Err(errno) }
    }

    fn write(&mut self, fd: u32, bytes: &[u8]) -> Result<u32, u32> {
        let (vector, _) = (self.vector(bytes.len() as u32), self.put(BUFFER, bytes));
        let errno = self.call(|wasi, guest| wasi.fd_write(guest, fd, vector, 1, RESULT));
        self.result(errno)
    }

    fn write_at(&mut self, fd: u32, bytes: &[u8], at: u64) -> Result<u32, u32> {
        let (vector, _) = (self.vector(bytes.len() as u32), self.put(BUFFER, bytes));
        let errno = self.call(|wasi, guest| wasi.fd_pwrite(guest, fd, vector, 1, at, RESULT));
        self.result(errno)
    }

    fn read(&mut self, fd: u32, len: u32) -> Result<Vec<u8>, u32> {
        let vector = self.vector(len);
        let errno = self.call(|wasi, guest| wasi.fd_read(guest, fd, vector, 1, RESULT));
        self.result(errno).map(|len| self.bytes(BUFFER, len).to_vec())
    }

    fn read_at(&mut self, fd: u32, len: u32, at: u64) -> Result<Vec<u8>, u32> {
        let vector = self.vector(len);
        let errno = self.call(|wasi, guest| wasi.fd_pread(guest, fd, vector, 1, at, RESULT));
        self.result(errno).map(|len| self.bytes(BUFFER, len).to_vec())
    }

    fn seek(&mut self, fd: u32, offset: i64, whence: u32) -> Result<u64, u32> {
        match self.call(|wasi, guest| wasi.fd_seek(guest, fd, offset as u64, whence, RESULT)) {
            errno::SUCCESS => Ok(self.u64(RESULT)),
            errno => Err(errno),
        }
    }

    fn close(&mut self, fd: u32) -> u32 {
        self.call(|wasi, guest| wasi.fd_close(guest, fd))
    }

    /// Returns the type and the size of a file.
    fn stat(&mut self, path: &str, lookup: u32) -> Result<(u8, u64), u32> {
        let (at, len) = self.path(path);
        match self.call(|wasi, guest| wasi.path_filestat_get(guest, ROOT, lookup, at, len, RESULT)) {
            errno::SUCCESS => Ok((self.bytes(RESULT + 16, 1)[0], self.u64(RESULT + 32))),
            errno => Err(errno),
        }
    }

    fn symlink(&mut self, target: &str, path: &str) -> u32 {
        let ((target, target_len), (at, len)) = (self.path2(target), self.path(path));
        self.call(|wasi, guest| wasi.path_symlink(guest, target, target_len, ROOT, at, len))
    }

    fn link(&mut self, lookup: u32, from: &str, to: &str) -> u32 {
        let ((from, from_len), (to, to_len)) = (self.path(from), self.path2(to));
        self.call(|wasi, guest| wasi.path_link(guest, ROOT, lookup, from, from_len, ROOT, to, to_len))
    }

    fn rename(&mut self, from: &str, to: &str) -> u32 {
        let ((from, from_len), (to, to_len)) = (self.path(from), self.path2(to));
        self.call(|wasi, guest| wasi.path_rename(guest, ROOT, from, from_len, ROOT, to, to_len))
    }

    fn unlink(&mut self, path: impl AsRef<[u8]>) -> u32 {
        let (at, len) = self.path(path);
        self.call(|wasi, guest| wasi.path_unlink_file(guest, ROOT, at, len))
    }

    fn create_directory(&mut self, path: &str) -> u32 {
        let (at, len) = self.path(path);
        self.call(|wasi, guest| wasi.path_create_directory(guest, ROOT, at, len))
    }

    fn remove_directory(&mut self, path: &str) -> u32 {
        let (at, len) = self.path(path);
        self.call(|wasi, guest| wasi.path_remove_directory(guest, ROOT, at, len))
    }

    fn readlink(&mut self, path: &str) -> Result<Vec<u8>, u32> {
        let (at, len) = self.path(path);
        let errno = self.call(|wasi, guest| wasi.path_readlink(guest, ROOT, at, len, BUFFER, 4096, RESULT));
        self.result(errno).map(|len| self.bytes(BUFFER, len).to_vec())
    }
}
