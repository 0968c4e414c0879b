// Passes long paths to all functions of wasi:filesystem 0.2 that take one, and lists a folder. Built with
//   clang-19 --target=wasm32 -O2 -c paths.c
//   clang-19 --target=wasm32 -nostdlib -Wl,--no-entry -Wl,--strip-debug paths.o -o paths.wasm
// in two steps, or names are taken away.
typedef unsigned char u8;
typedef unsigned u32;
typedef unsigned long long u64;

#define FROM(module, name) __attribute__((import_module("wasi:filesystem/" module "@0.2.0"), import_name(name))) extern
#define EXPORT(name) __attribute__((export_name(name)))

typedef struct { const char *at; u32 len; } Text;
typedef struct { u8 failed, code; } Done;
typedef struct { u8 failed; union { u8 code; u32 handle; Text text; }; } Result;
typedef struct { u8 failed; union { u8 code; u64 whole[12]; }; } Wide;
typedef struct { u8 failed; union { u8 code; struct { u8 is_some; u32 type; Text name; } entry; }; } Entry;

FROM("preopens", "get-directories") void directories(Text *);
FROM("types", "[method]descriptor.read-directory") void read_directory(u32, Result *);
FROM("types", "[method]descriptor.create-directory-at") void create_directory(u32, const char *, u32, Done *);
FROM("types", "[method]descriptor.stat-at") void stat_at(u32, u32, const char *, u32, Wide *);
FROM("types", "[method]descriptor.set-times-at") void set_times(u32, u32, const char *, u32, u32, u64, u32, u32, u64, u32, Done *);
FROM("types", "[method]descriptor.link-at") void link_at(u32, u32, const char *, u32, u32, const char *, u32, Done *);
FROM("types", "[method]descriptor.open-at") void open_at(u32, u32, const char *, u32, u32, u32, Result *);
FROM("types", "[method]descriptor.readlink-at") void readlink(u32, const char *, u32, Result *);
FROM("types", "[method]descriptor.remove-directory-at") void remove_directory(u32, const char *, u32, Done *);
FROM("types", "[method]descriptor.rename-at") void rename_at(u32, const char *, u32, u32, const char *, u32, Done *);
FROM("types", "[method]descriptor.symlink-at") void symlink_at(u32, const char *, u32, const char *, u32, Done *);
FROM("types", "[method]descriptor.unlink-file-at") void unlink_at(u32, const char *, u32, Done *);
FROM("types", "[method]descriptor.metadata-hash-at") void hash_at(u32, u32, const char *, u32, Wide *);
FROM("types", "[method]directory-entry-stream.read-directory-entry") void read_entry(u32, Entry *);

static u8 heap[1 << 16];
static u32 used;

EXPORT("cabi_realloc") void *cabi_realloc(void *old, u32 old_size, u32 align, u32 size) {
    used = (used + align - 1) & -align;
    if (used + size > sizeof heap) __builtin_trap();
    void *at = heap + used;
    used += size;
    return at;
}

static u32 folder(void) {
    Text list;
    directories(&list);
    return *(const u32 *)list.at;
}

// The folder itself, in many characters, and a name.
static char big[(10 << 20) + 1];

static Text codes;
static u8 said[64];

static void note(u8 failed, u8 code) {
    said[codes.len++] = failed && code == 18 ? '1' : '0';
}

// One 1 for each path that is too long.
EXPORT("long-paths") Text *long_paths(void) {
    for (u32 i = 0; i + 1 < sizeof big; i++) ((volatile char *)big)[i] = i % 2 ? '/' : '.';
    big[sizeof big - 1] = 'x';
    u32 len = sizeof big, of = folder();
    Done done;
    Result result;
    Wide wide;
    codes = (Text){(const char *)said, 0};
    open_at(of, 1, big, len, 1, 3, &result), note(result.failed, result.code);
    create_directory(of, big, len, &done), note(done.failed, done.code);
    remove_directory(of, big, len, &done), note(done.failed, done.code);
    unlink_at(of, big, len, &done), note(done.failed, done.code);
    readlink(of, big, len, &result), note(result.failed, result.code);
    symlink_at(of, big, len, "new", 3, &done), note(done.failed, done.code);
    symlink_at(of, "old", 3, big, len, &done), note(done.failed, done.code);
    rename_at(of, big, len, of, "new", 3, &done), note(done.failed, done.code);
    rename_at(of, "old", 3, of, big, len, &done), note(done.failed, done.code);
    link_at(of, 0, big, len, of, "new", 3, &done), note(done.failed, done.code);
    link_at(of, 0, "old", 3, of, big, len, &done), note(done.failed, done.code);
    stat_at(of, 0, big, len, &wide), note(wide.failed, wide.code);
    set_times(of, 0, big, len, 0, 0, 0, 0, 0, 0, &done), note(done.failed, done.code);
    hash_at(of, 0, big, len, &wide), note(wide.failed, wide.code);
    // The longest that is none too many.
    open_at(of, 1, big + sizeof big - 4095, 4095, 1, 3, &result), note(result.failed, result.code);
    return &codes;
}

// The number of files in the folder.
EXPORT("count-files") u32 count_files(void) {
    Result opened;
    Entry entry;
    u32 count = 0;
    read_directory(folder(), &opened);
    if (opened.failed) __builtin_trap();
    for (;;) {
        u32 before = used;
        read_entry(opened.handle, &entry);
        used = before;
        if (entry.failed) __builtin_trap();
        if (!entry.entry.is_some) return count;
        count++;
    }
}
