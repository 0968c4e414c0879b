// Answers requests by way of wasi:http 0.2 as the canonical ABI has it, without a C library. Built with
//   clang-19 --target=wasm32 -O2 -c http.c
//   clang-19 --target=wasm32 -nostdlib -Wl,--no-entry -Wl,--strip-debug http.o -o http.wasm
// in two steps, or names are taken away.
//
//   /echo        the body as it came, and the field `x-test`
//   /count/N     goes round a loop N times, and says so
//   /proxy/HOST  asks this host for /hello, and passes on what it answers
//   /secure/HOST  the same by HTTPS
//   /status      418 without a body
//   /fields      which fields cannot be set
//   /code/N      1 if N cannot be the status of a response, else 0
//   /long        which of several long texts of a request are refused
//   /fill/WHAT   keeps without end: c fields that are copies, p paths, q requests, r responses, h heads of the request
//   /hoard       keeps the request
//   /ask/N/HOST  asks N times, one after the other; says how many were answered, and the last error code
//   /keep/N/HOST the same, and keeps the responses without reading them
//   /many/N/HOST asks N times at once, and keeps what is to come
//   /forget/HOST asks, and drops what is to come
//   /trap, /silent, /half, /error   answer wrongly
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
typedef unsigned long long u64;

#define FROM(module, name) __attribute__((import_module("wasi:" module "@0.2.0"), import_name(name))) extern
#define EXPORT(name) __attribute__((export_name(name)))

typedef struct { u8 *at; u32 len; } Text;
typedef struct { u8 is_some; u32 : 0; Text text; } Maybe;
typedef struct { u8 failed; u32 : 0; union { u8 code; u32 handle; Text text; }; } Result;
typedef struct { u8 failed, code; } Done;
typedef struct { u8 number; u32 : 0; Text other; } Method;
// An error code is aligned to 8 bytes.
typedef struct { u8 failed; union { u8 code; u32 handle; u64 whole[4]; }; } Coded;
typedef struct { u8 is_some; u64 : 0; u8 was_taken; u64 : 0; u8 failed; u64 : 0; union { u8 code; u32 handle; u64 whole[4]; }; } Got;

FROM("io/poll", "[method]pollable.block") void block(u32);
FROM("io/poll", "[resource-drop]pollable") void drop_pollable(u32);
FROM("io/streams", "[method]input-stream.blocking-read") void read_some(u32, u64, Result *);
FROM("io/streams", "[resource-drop]input-stream") void drop_input(u32);
FROM("io/streams", "[method]output-stream.blocking-write-and-flush") void write_all(u32, const void *, u32, Result *);
FROM("io/streams", "[resource-drop]output-stream") void drop_output(u32);
FROM("http/types", "[constructor]fields") u32 fields(void);
FROM("http/types", "[method]fields.get") void fields_get(u32, const char *, u32, Text *);
FROM("http/types", "[method]fields.append") void fields_append(u32, const char *, u32, const void *, u32, Done *);
FROM("http/types", "[method]fields.clone") u32 fields_clone(u32);
FROM("http/types", "[resource-drop]fields") void drop_fields(u32);
FROM("http/types", "[method]incoming-request.method") void request_method(u32, Method *);
FROM("http/types", "[method]incoming-request.path-with-query") void request_path(u32, Maybe *);
FROM("http/types", "[method]incoming-request.headers") u32 request_headers(u32);
FROM("http/types", "[method]incoming-request.consume") void request_body(u32, Result *);
FROM("http/types", "[resource-drop]incoming-request") void drop_request(u32);
FROM("http/types", "[constructor]outgoing-request") u32 ask(u32);
FROM("http/types", "[method]outgoing-request.body") void ask_body(u32, Result *);
FROM("http/types", "[method]outgoing-request.set-method") u32 ask_method(u32, u32, u32, u32);
FROM("http/types", "[method]outgoing-request.set-path-with-query") u32 ask_path(u32, u32, const char *, u32);
FROM("http/types", "[method]outgoing-request.set-scheme") u32 ask_scheme(u32, u32, u32, u32, u32);
FROM("http/types", "[method]outgoing-request.set-authority") u32 ask_authority(u32, u32, const void *, u32);
FROM("http/types", "[constructor]request-options") u32 options(void);
FROM("http/types", "[method]request-options.set-first-byte-timeout") u32 options_first(u32, u32, u64);
FROM("http/types", "[static]response-outparam.set") void answer(u32, u32, u32, u32, u64, u32, u32, u32, u32);
FROM("http/types", "[method]incoming-response.status") u32 response_status(u32);
FROM("http/types", "[method]incoming-response.consume") void response_body(u32, Result *);
FROM("http/types", "[resource-drop]incoming-response") void drop_response(u32);
FROM("http/types", "[method]incoming-body.stream") void body_stream(u32, Result *);
FROM("http/types", "[resource-drop]incoming-body") void drop_body(u32);
FROM("http/types", "[constructor]outgoing-response") u32 response(u32);
FROM("http/types", "[method]outgoing-response.set-status-code") u32 set_status(u32, u32);
FROM("http/types", "[method]outgoing-response.body") void own_body(u32, Result *);
FROM("http/types", "[method]outgoing-body.write") void own_stream(u32, Result *);
FROM("http/types", "[static]outgoing-body.finish") void finish(u32, u32, u32, Coded *);
FROM("http/types", "[method]future-incoming-response.subscribe") u32 future_ready(u32);
FROM("http/types", "[method]future-incoming-response.get") void future_get(u32, Got *);
FROM("http/types", "[resource-drop]future-incoming-response") void drop_future(u32);
FROM("http/outgoing-handler", "handle") void send(u32, u32, u32, Coded *);

static u8 heap[1 << 20];
static u32 used;

EXPORT("cabi_realloc") void *cabi_realloc(void *old, u32 old_size, u32 align, u32 size) {
    used = (used + align - 1) & -align;
    if (used + size > sizeof heap) __builtin_trap();
    void *at = heap + used;
    used += size;
    return at;
}

static u32 length(const char *text) {
    u32 len = 0;
    while (text[len]) len++;
    return len;
}

static int starts(Text text, const char *with) {
    u32 len = length(with);
    if (text.len < len) return 0;
    for (u32 i = 0; i < len; i++)
        if (text.at[i] != with[i]) return 0;
    return 1;
}

static void put(u32 stream, const void *bytes, u32 len) {
    Result done;
    const u8 *at = bytes;
    while (len > 0) {
        u32 part = len < 4096 ? len : 4096;
        write_all(stream, at, part, &done);
        if (done.failed) __builtin_trap();
        at += part, len -= part;
    }
}

// Answers, and gives the body and its stream.
static u32 begin(u32 out, u32 status, u32 headers, u32 *stream) {
    Result body, opened;
    u32 whole = response(headers);
    set_status(whole, status);
    own_body(whole, &body);
    answer(out, 0, whole, 0, 0, 0, 0, 0, 0);
    own_stream(body.handle, &opened);
    *stream = opened.handle;
    return body.handle;
}

static void end(u32 body, u32 stream) {
    Coded done;
    drop_output(stream);
    finish(body, 0, 0, &done);
}

static void say(u32 out, u32 status, const void *text, u32 len) {
    u32 stream, body = begin(out, status, fields(), &stream);
    put(stream, text, len);
    end(body, stream);
}

// Copies a body that comes in.
static void copy(u32 body, u32 to) {
    Result opened, part;
    body_stream(body, &opened);
    for (;;) {
        u32 before = used;
        read_some(opened.handle, 65536, &part);
        if (part.failed) break;
        put(to, part.text.at, part.text.len);
        used = before;
    }
    drop_input(opened.handle);
    drop_body(body);
}

static void echo(u32 request, u32 out) {
    Result body;
    Done done;
    Text values;
    u32 given = request_headers(request), own = fields(), stream;
    fields_get(given, "X-Test", 6, &values);
    for (u32 i = 0; i < values.len; i++) {
        Text *value = (Text *)values.at + i;
        fields_append(own, "x-test", 6, value->at, value->len, &done);
    }
    drop_fields(given);
    request_body(request, &body);
    u32 sent = begin(out, 200, own, &stream);
    copy(body.handle, stream);
    end(sent, stream);
}

__attribute__((noinline)) u32 count(u32 n) {
    volatile u32 i = 0;
    while (i < n) i++;
    return i;
}

static void count_to(Text digits, u32 out) {
    u32 n = 0;
    for (u32 i = 0; i < digits.len && digits.at[i] >= '0' && digits.at[i] <= '9'; i++) n = n * 10 + digits.at[i] - '0';
    u8 text[10], *at = text + 10;
    n = count(n);
    do *--at = '0' + n % 10, n /= 10; while (n);
    say(out, 200, at, text + 10 - at);
}

static void proxy(Text host, u32 scheme, u32 out) {
    Coded sent;
    Got got;
    Result body;
    u32 request = ask(fields()), stream;
    ask_path(request, 1, "/hello", 6);
    ask_scheme(request, 1, scheme, 0, 0);
    ask_authority(request, 1, host.at, host.len);
    ask_method(request, 2, 0, 0);
    ask_body(request, &body);
    u32 own = body.handle, wish = options();
    options_first(wish, 1, 2000000000);
    send(request, 1, wish, &sent);
    if (sent.failed) {
        say(out, 502, &sent.code, 1);
        return;
    }
    own_stream(own, &body);
    stream = body.handle;
    put(stream, "asked", 5);
    end(own, stream);
    u32 pollable = future_ready(sent.handle);
    block(pollable);
    drop_pollable(pollable);
    future_get(sent.handle, &got);
    if (!got.is_some || got.was_taken) __builtin_trap();
    if (got.failed) {
        say(out, 502, &got.code, 1);
    } else {
        response_body(got.handle, &body);
        u32 back = begin(out, response_status(got.handle), fields(), &stream);
        copy(body.handle, stream);
        end(back, stream);
        drop_response(got.handle);
    }
    drop_future(sent.handle);
}

static void bad_fields(u32 out) {
    Done done;
    u32 own = fields();
    u8 codes[5];
    fields_append(own, "a b", 3, "x", 1, &done);
    codes[0] = '0' + done.failed + done.code;
    fields_append(own, "a", 1, "x\n", 2, &done);
    codes[1] = '0' + done.failed + done.code;
    fields_append(own, "Transfer-Encoding", 17, "x", 1, &done);
    codes[2] = '0' + done.failed + done.code;
    fields_append(own, "a", 1, "x", 1, &done);
    codes[3] = '0' + done.failed;
    drop_fields(own);
    say(out, 200, codes, 4);
}

static u8 *digits(u8 *end, u32 n) {
    do *--end = '0' + n % 10, n /= 10; while (n);
    return end;
}

// Takes a number and the slash behind it.
static u32 number(Text *from) {
    u32 n = 0;
    while (from->len && *from->at >= '0' && *from->at <= '9') n = n * 10 + *from->at++ - '0', from->len--;
    if (from->len) from->at++, from->len--;
    return n;
}

static void refused_code(Text text, u32 out) {
    u8 code = '0' + set_status(response(fields()), number(&text));
    say(out, 200, &code, 1);
}

static u8 big[1 << 20];

static void fill_big(void) {
    volatile u8 *to = big;
    for (u32 i = 0; i < sizeof big; i++) to[i] = 'a';
}

static void long_texts(u32 out) {
    u32 own = ask(fields());
    u8 codes[8];
    const char *text = (const char *)big;
    fill_big();
    codes[0] = '0' + ask_path(own, 1, text, 1 << 20);
    codes[1] = '0' + ask_path(own, 1, text, 65535);
    codes[2] = '0' + ask_authority(own, 1, text, 8193);
    codes[3] = '0' + ask_authority(own, 1, text, 8192);
    codes[4] = '0' + ask_method(own, 9, (u32)big, 8193);
    codes[5] = '0' + ask_method(own, 9, (u32)big, 8192);
    codes[6] = '0' + ask_scheme(own, 1, 2, (u32)big, 8193);
    codes[7] = '0' + ask_scheme(own, 1, 2, (u32)big, 8192);
    say(out, 200, codes, 8);
}

static u32 long_fields(void) {
    Done done;
    u32 own = fields();
    fields_append(own, "x", 1, big, 8000, &done);
    return own;
}

static void fill(u32 request, u8 what, u32 out) {
    fill_big();
    u32 own = long_fields();
    for (u32 i = 0; i < 100000; i++) {
        if (what == 'c') fields_clone(own);
        else if (what == 'p') ask_path(ask(fields()), 1, (const char *)big, 60000);
        else if (what == 'q') ask(long_fields());
        else if (what == 'r') response(long_fields());
        else request_headers(request);
    }
    say(out, 200, "kept", 4);
}

static void ask_host(Text host, Coded *sent) {
    u32 request = ask(fields());
    ask_authority(request, 1, host.at, host.len);
    send(request, 0, 0, sent);
}

// Gives 0, or one more than an error code.
static u32 ask_once(Text host, int keeps) {
    Coded sent;
    Got got;
    Result body, opened, part;
    ask_host(host, &sent);
    if (sent.failed) return 1 + sent.code;
    u32 pollable = future_ready(sent.handle);
    block(pollable);
    drop_pollable(pollable);
    future_get(sent.handle, &got);
    if (!got.failed && !keeps) {
        u32 before = used;
        response_body(got.handle, &body);
        body_stream(body.handle, &opened);
        do used = before, read_some(opened.handle, 65536, &part); while (!part.failed);
        drop_input(opened.handle);
        drop_body(body.handle);
        drop_response(got.handle);
    }
    drop_future(sent.handle);
    return got.failed ? 1 + got.code : 0;
}

static void ask_often(Text text, int keeps, u32 out) {
    u32 answered = 0, failed = 0;
    for (u32 n = number(&text); n > 0; n--) {
        u32 code = ask_once(text, keeps);
        if (code) failed = code;
        else answered++;
    }
    u8 said[30], *at = digits(said + 30, failed);
    *--at = ' ';
    at = digits(at, answered);
    say(out, 200, at, said + 30 - at);
}

static void ask_many(Text text, u32 out) {
    Coded sent;
    for (u32 n = number(&text); n > 0; n--) ask_host(text, &sent);
    say(out, 200, "asked", 5);
}

static void forget(Text host, u32 out) {
    Coded sent;
    ask_host(host, &sent);
    if (sent.failed) __builtin_trap();
    drop_future(sent.handle);
    say(out, 200, "gone", 4);
}

EXPORT("wasi:http/incoming-handler@0.2.0#handle") void handle(u32 request, u32 out) {
    Maybe path;
    u32 before = used, stream;
    request_path(request, &path);
    Text text = path.text;
    if (starts(text, "/echo")) echo(request, out);
    else if (starts(text, "/count/")) count_to((Text){text.at + 7, text.len - 7}, out);
    else if (starts(text, "/proxy/")) proxy((Text){text.at + 7, text.len - 7}, 0, out);
    else if (starts(text, "/secure/")) proxy((Text){text.at + 8, text.len - 8}, 1, out);
    else if (starts(text, "/status")) { u32 body = begin(out, 418, fields(), &stream); end(body, stream); }
    else if (starts(text, "/fields")) bad_fields(out);
    else if (starts(text, "/code/")) refused_code((Text){text.at + 6, text.len - 6}, out);
    else if (starts(text, "/long")) long_texts(out);
    else if (starts(text, "/fill/")) fill(request, text.at[6], out);
    else if (starts(text, "/ask/")) ask_often((Text){text.at + 5, text.len - 5}, 0, out);
    else if (starts(text, "/keep/")) ask_often((Text){text.at + 6, text.len - 6}, 1, out);
    else if (starts(text, "/many/")) ask_many((Text){text.at + 6, text.len - 6}, out);
    else if (starts(text, "/forget/")) forget((Text){text.at + 8, text.len - 8}, out);
    else if (starts(text, "/hoard")) { say(out, 200, "kept", 4); used = before; return; }
    else if (starts(text, "/trap")) __builtin_trap();
    else if (starts(text, "/half")) begin(out, 200, fields(), &stream);
    else if (starts(text, "/error")) answer(out, 1, 35, 0, 0, 0, 0, 0, 0);
    else if (!starts(text, "/silent")) say(out, 404, "nothing", 7);
    drop_request(request);
    used = before;
}
