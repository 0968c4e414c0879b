// Uses wasi:sockets 0.2 as the canonical ABI has it, without a C library: results of more than one value are written to
// where the last argument says. Built with
//   clang-19 --target=wasm32 -O2 -c sockets.c
//   clang-19 --target=wasm32 -nostdlib -Wl,--no-entry -Wl,--strip-debug sockets.o -o sockets.wasm
// in two steps, or names are taken away.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
typedef unsigned long long u64;

#define FROM(module, name) __attribute__((import_module("wasi:" module "@0.2.0"), import_name(name))) extern
#define EXPORT(name) __attribute__((export_name(name)))
#define CHECK(condition) if (!(condition)) return __LINE__

// An address of version 4, as parameters: a variant of the size of the other version.
#define V4(port) 0, port, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0
#define ADDRESS u32, u32, u32, u32, u32, u32, u32, u32, u32, u32, u32, u32

enum { UNKNOWN, DENIED, UNSUPPORTED, INVALID, MEMORY, TIMEOUT, CONFLICT, NOT_IN_PROGRESS, WOULD_BLOCK, BAD_STATE,
       SOCKET_LIMIT, NOT_BINDABLE, IN_USE, UNREACHABLE, REFUSED };

// Results: whether it is an error, and what follows, which is aligned as the largest of it.
typedef struct { u8 failed, code; } Done;
typedef struct { u8 failed; union { u8 code; u32 handles[3]; }; } Handles;
typedef struct { u8 failed; union { u8 code; struct { u8 *at; u32 len; }; }; } List;
typedef struct { u8 failed; union { u8 code; u64 value; }; } Long;
typedef struct { u8 failed; union { u8 code; u32 value; }; } Word;
typedef struct { u8 version; u32 : 0; union { struct { u16 port; u8 bytes[4]; }; u32 whole[7]; }; } Address;
typedef struct { u8 failed; union { u8 code; Address address; }; } Local;
typedef struct { u8 *at; u32 len; Address from; } Incoming;
typedef struct { const u8 *at; u32 len; u8 has_to; Address to; } Outgoing;
typedef struct { u8 failed; u8 : 8; union { u8 code; struct { u8 is_some; u8 : 8; u8 version; u8 : 8; u8 bytes[4]; u16 more[6]; }; }; } Found;

FROM("io/poll", "[method]pollable.block") void block(u32);
FROM("io/poll", "[method]pollable.ready") u32 ready(u32);
FROM("io/poll", "[resource-drop]pollable") void drop_pollable(u32);
FROM("io/streams", "[method]input-stream.read") void read_now(u32, u64, List *);
FROM("io/streams", "[method]input-stream.blocking-read") void read_some(u32, u64, List *);
FROM("io/streams", "[method]input-stream.subscribe") u32 input_ready(u32);
FROM("io/streams", "[resource-drop]input-stream") void drop_input(u32);
FROM("io/streams", "[method]output-stream.blocking-write-and-flush") void write_all(u32, const char *, u32, List *);
FROM("io/streams", "[resource-drop]output-stream") void drop_output(u32);
FROM("sockets/network", "[resource-drop]network") void drop_network(u32);
FROM("sockets/instance-network", "instance-network") u32 network(void);
FROM("sockets/tcp-create-socket", "create-tcp-socket") void tcp_new(u32, Handles *);
FROM("sockets/tcp", "[method]tcp-socket.start-bind") void tcp_bind(u32, u32, ADDRESS, Done *);
FROM("sockets/tcp", "[method]tcp-socket.finish-bind") void tcp_bound(u32, Done *);
FROM("sockets/tcp", "[method]tcp-socket.start-connect") void tcp_connect(u32, u32, ADDRESS, Done *);
FROM("sockets/tcp", "[method]tcp-socket.finish-connect") void tcp_connected(u32, Handles *);
FROM("sockets/tcp", "[method]tcp-socket.start-listen") void tcp_listen(u32, Done *);
FROM("sockets/tcp", "[method]tcp-socket.finish-listen") void tcp_listening(u32, Done *);
FROM("sockets/tcp", "[method]tcp-socket.accept") void tcp_accept(u32, Handles *);
FROM("sockets/tcp", "[method]tcp-socket.local-address") void tcp_local(u32, Local *);
FROM("sockets/tcp", "[method]tcp-socket.remote-address") void tcp_remote(u32, Local *);
FROM("sockets/tcp", "[method]tcp-socket.is-listening") u32 tcp_listens(u32);
FROM("sockets/tcp", "[method]tcp-socket.address-family") u32 tcp_family(u32);
FROM("sockets/tcp", "[method]tcp-socket.keep-alive-count") void tcp_probes(u32, Word *);
FROM("sockets/tcp", "[method]tcp-socket.set-keep-alive-count") void tcp_set_probes(u32, u32, Done *);
FROM("sockets/tcp", "[method]tcp-socket.keep-alive-idle-time") void tcp_idle(u32, Long *);
FROM("sockets/tcp", "[method]tcp-socket.set-keep-alive-idle-time") void tcp_set_idle(u32, u64, Done *);
FROM("sockets/tcp", "[method]tcp-socket.hop-limit") void tcp_hops(u32, Done *);
FROM("sockets/tcp", "[method]tcp-socket.set-hop-limit") void tcp_set_hops(u32, u32, Done *);
FROM("sockets/tcp", "[method]tcp-socket.receive-buffer-size") void tcp_buffer(u32, Long *);
FROM("sockets/tcp", "[method]tcp-socket.set-receive-buffer-size") void tcp_set_buffer(u32, u64, Done *);
FROM("sockets/tcp", "[method]tcp-socket.subscribe") u32 tcp_ready(u32);
FROM("sockets/tcp", "[method]tcp-socket.shutdown") void tcp_shutdown(u32, u32, Done *);
FROM("sockets/tcp", "[resource-drop]tcp-socket") void drop_tcp(u32);
FROM("sockets/udp-create-socket", "create-udp-socket") void udp_new(u32, Handles *);
FROM("sockets/udp", "[method]udp-socket.start-bind") void udp_bind(u32, u32, ADDRESS, Done *);
FROM("sockets/udp", "[method]udp-socket.finish-bind") void udp_bound(u32, Done *);
FROM("sockets/udp", "[method]udp-socket.stream") void udp_stream(u32, u32, ADDRESS, Handles *);
FROM("sockets/udp", "[method]udp-socket.local-address") void udp_local(u32, Local *);
FROM("sockets/udp", "[method]udp-socket.remote-address") void udp_remote(u32, Local *);
FROM("sockets/udp", "[method]incoming-datagram-stream.receive") void udp_receive(u32, u64, List *);
FROM("sockets/udp", "[method]incoming-datagram-stream.subscribe") u32 udp_ready(u32);
FROM("sockets/udp", "[method]outgoing-datagram-stream.check-send") void udp_check(u32, Long *);
FROM("sockets/udp", "[method]outgoing-datagram-stream.send") void udp_send(u32, const Outgoing *, u32, Long *);
FROM("sockets/udp", "[resource-drop]udp-socket") void drop_udp(u32);
FROM("sockets/udp", "[resource-drop]incoming-datagram-stream") void drop_incoming(u32);
FROM("sockets/udp", "[resource-drop]outgoing-datagram-stream") void drop_outgoing(u32);
FROM("sockets/ip-name-lookup", "resolve-addresses") void resolve(u32, const char *, u32, Handles *);
FROM("sockets/ip-name-lookup", "[method]resolve-address-stream.resolve-next-address") void next_address(u32, Found *);
FROM("sockets/ip-name-lookup", "[method]resolve-address-stream.subscribe") u32 lookup_ready(u32);
FROM("sockets/ip-name-lookup", "[resource-drop]resolve-address-stream") void drop_addresses(u32);

static u8 heap[1 << 16];
static u32 used;

EXPORT("cabi_realloc") void *cabi_realloc(void *old, u32 old_size, u32 align, u32 size) {
    used = (used + align - 1) & -align;
    // Nothing is kept for long.
    if (used + size > sizeof heap) used = 0;
    void *at = heap + used;
    used += size;
    return at;
}

static void wait_for(u32 pollable) {
    block(pollable);
    drop_pollable(pollable);
}

EXPORT("tcp") u32 tcp(void) {
    Handles made, ends;
    Done done;
    Local local, remote;
    List list;
    u32 net = network();
    tcp_new(0, &made);
    CHECK(!made.failed);
    u32 server = made.handles[0];
    CHECK(tcp_family(server) == 0);
    tcp_local(server, &local);
    CHECK(local.failed && local.code == BAD_STATE);
    tcp_bound(server, &done);
    CHECK(done.failed && done.code == NOT_IN_PROGRESS);
    tcp_listen(server, &done);
    CHECK(done.failed && done.code == BAD_STATE);
    tcp_bind(server, net, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, &done);
    CHECK(done.failed && done.code == INVALID);
    tcp_bind(server, net, V4(0), &done);
    CHECK(!done.failed);
    tcp_bind(server, net, V4(0), &done);
    CHECK(done.failed && done.code == CONFLICT);
    tcp_bound(server, &done);
    CHECK(!done.failed);
    tcp_accept(server, &ends);
    CHECK(ends.failed && ends.code == BAD_STATE);
    tcp_listen(server, &done);
    CHECK(!done.failed);
    tcp_listening(server, &done);
    CHECK(!done.failed && tcp_listens(server));
    tcp_accept(server, &ends);
    CHECK(ends.failed && ends.code == WOULD_BLOCK);
    tcp_local(server, &local);
    CHECK(!local.failed && local.address.version == 0 && local.address.port != 0 && local.address.bytes[0] == 127);

    tcp_new(0, &made);
    u32 client = made.handles[0];
    tcp_connect(client, net, V4(0), &done);
    CHECK(done.failed && done.code == INVALID);
    tcp_connect(client, net, V4(local.address.port), &done);
    CHECK(!done.failed);
    wait_for(tcp_ready(client));
    tcp_connected(client, &made);
    CHECK(!made.failed);
    u32 client_in = made.handles[0], client_out = made.handles[1];
    u32 pollable = tcp_ready(server);
    block(pollable);
    CHECK(ready(pollable));
    tcp_accept(server, &ends);
    CHECK(!ends.failed && !ready(pollable));
    drop_pollable(pollable);
    u32 peer = ends.handles[0], peer_in = ends.handles[1], peer_out = ends.handles[2];
    tcp_remote(client, &remote);
    CHECK(!remote.failed && remote.address.port == local.address.port);
    tcp_local(client, &local);
    tcp_remote(peer, &remote);
    CHECK(!remote.failed && remote.address.port == local.address.port);
    tcp_remote(server, &remote);
    CHECK(remote.failed && remote.code == BAD_STATE);

    read_now(peer_in, 10, &list);
    CHECK(!list.failed && list.len == 0);
    write_all(client_out, "hello", 5, &list);
    CHECK(!list.failed);
    read_some(peer_in, 10, &list);
    CHECK(!list.failed && list.len == 5 && list.at[4] == 'o');
    write_all(peer_out, "you", 3, &list);
    read_some(client_in, 2, &list);
    CHECK(!list.failed && list.len == 2 && list.at[1] == 'o');
    // Behind what was written comes the end, and the other direction goes on.
    write_all(client_out, "end", 3, &list);
    tcp_shutdown(client, 1, &done);
    CHECK(!done.failed);
    write_all(client_out, "more", 4, &list);
    CHECK(list.failed && list.code == 1);
    read_some(peer_in, 10, &list);
    CHECK(!list.failed && list.len == 3);
    read_some(peer_in, 10, &list);
    CHECK(list.failed && list.code == 1);
    write_all(peer_out, "back", 4, &list);
    CHECK(!list.failed);
    read_some(client_in, 1, &list);
    CHECK(!list.failed && list.at[0] == 'u');
    wait_for(input_ready(client_in));
    // What was not read is gone.
    tcp_shutdown(client, 0, &done);
    CHECK(!done.failed);
    read_now(client_in, 10, &list);
    CHECK(list.failed && list.code == 1);

    Word word;
    Long number;
    tcp_set_probes(client, 0, &done);
    CHECK(done.failed && done.code == INVALID);
    tcp_set_probes(client, 7, &done);
    tcp_probes(client, &word);
    CHECK(!done.failed && !word.failed && word.value == 7);
    tcp_set_idle(client, 1, &done);
    tcp_idle(client, &number);
    CHECK(!done.failed && number.value == 1000000000);
    tcp_set_hops(client, 0, &done);
    CHECK(done.failed && done.code == INVALID);
    tcp_set_hops(client, 42, &done);
    tcp_hops(client, &done);
    CHECK(!done.failed && done.code == 42);
    tcp_set_buffer(client, 16384, &done);
    tcp_buffer(client, &number);
    CHECK(!done.failed && number.value >= 16384);

    drop_input(client_in), drop_output(client_out), drop_tcp(client);
    drop_input(peer_in), drop_output(peer_out), drop_tcp(peer);
    drop_tcp(server);

    // Nobody listens any more.
    tcp_new(0, &made);
    client = made.handles[0];
    tcp_connect(client, net, V4(1), &done);
    CHECK(!done.failed);
    wait_for(tcp_ready(client));
    tcp_connected(client, &made);
    CHECK(made.failed && made.code == REFUSED);
    tcp_connected(client, &made);
    CHECK(made.failed && made.code == NOT_IN_PROGRESS);
    tcp_local(client, &local);
    CHECK(local.failed && local.code == BAD_STATE);
    drop_tcp(client);
    drop_network(net);
    return 0;
}

static u32 udp_socket(u32 net, u16 *port) {
    Handles made;
    Done done;
    Local local;
    udp_new(0, &made);
    udp_bind(made.handles[0], net, V4(0), &done);
    udp_bound(made.handles[0], &done);
    udp_local(made.handles[0], &local);
    *port = local.address.port;
    return made.handles[0];
}

static Long send_to(u32 stream, const char *text, u32 len, u16 port) {
    Outgoing datagram = {(const u8 *)text, len, port != 0, {0, .port = port, .bytes = {127, 0, 0, 1}}};
    Long sent;
    udp_check(stream, &sent);
    if (!sent.failed && sent.value > 0) udp_send(stream, &datagram, 1, &sent);
    return sent;
}

EXPORT("udp") u32 udp(void) {
    Handles a_ends, b_ends;
    Local remote;
    List list;
    Long sent;
    u32 net = network();
    u16 a_port, b_port, c_port;
    u32 a = udp_socket(net, &a_port), b = udp_socket(net, &b_port), c = udp_socket(net, &c_port);
    CHECK(a_port != 0 && b_port != 0 && a_port != b_port);
    udp_stream(a, 0, V4(0), &a_ends);
    udp_stream(b, 0, V4(0), &b_ends);
    CHECK(!a_ends.failed && !b_ends.failed);
    udp_remote(a, &remote);
    CHECK(remote.failed && remote.code == BAD_STATE);
    udp_receive(b_ends.handles[0], 5, &list);
    CHECK(!list.failed && list.len == 0);
    sent = send_to(a_ends.handles[1], "one", 3, 0);
    CHECK(sent.failed && sent.code == INVALID);
    sent = send_to(a_ends.handles[1], "one", 3, b_port);
    CHECK(!sent.failed && sent.value == 1);
    sent = send_to(a_ends.handles[1], "", 0, b_port);
    CHECK(!sent.failed && sent.value == 1);
    wait_for(udp_ready(b_ends.handles[0]));
    udp_receive(b_ends.handles[0], 1, &list);
    Incoming *got = (Incoming *)list.at;
    CHECK(!list.failed && list.len == 1 && got->len == 3 && got->at[2] == 'e' && got->from.port == a_port);
    udp_receive(b_ends.handles[0], 9, &list);
    CHECK(!list.failed && list.len == 1 && ((Incoming *)list.at)->len == 0);

    // One that has another side hears nobody else.
    drop_incoming(b_ends.handles[0]), drop_outgoing(b_ends.handles[1]);
    udp_stream(b, 1, V4(a_port), &b_ends);
    CHECK(!b_ends.failed);
    udp_remote(b, &remote);
    CHECK(!remote.failed && remote.address.port == a_port);
    Handles c_ends;
    udp_stream(c, 0, V4(0), &c_ends);
    sent = send_to(c_ends.handles[1], "other", 5, b_port);
    CHECK(!sent.failed && sent.value == 1);
    sent = send_to(a_ends.handles[1], "mine", 4, b_port);
    wait_for(udp_ready(b_ends.handles[0]));
    udp_receive(b_ends.handles[0], 9, &list);
    CHECK(!list.failed && list.len == 1 && ((Incoming *)list.at)->len == 4);
    sent = send_to(b_ends.handles[1], "back", 4, 0);
    CHECK(!sent.failed && sent.value == 1);
    sent = send_to(b_ends.handles[1], "back", 4, c_port);
    CHECK(sent.failed && sent.code == INVALID);
    wait_for(udp_ready(a_ends.handles[0]));
    udp_receive(a_ends.handles[0], 9, &list);
    CHECK(!list.failed && list.len == 1);

    drop_incoming(a_ends.handles[0]), drop_outgoing(a_ends.handles[1]);
    drop_incoming(b_ends.handles[0]), drop_outgoing(b_ends.handles[1]);
    drop_incoming(c_ends.handles[0]), drop_outgoing(c_ends.handles[1]);
    drop_udp(a), drop_udp(b), drop_udp(c);
    drop_network(net);
    return 0;
}

EXPORT("lookup") u32 lookup(void) {
    Handles made;
    Found found;
    u32 net = network();
    resolve(net, "10.1.2.3", 8, &made);
    CHECK(!made.failed);
    next_address(made.handles[0], &found);
    CHECK(!found.failed && found.is_some && found.version == 0 && found.bytes[0] == 10 && found.bytes[3] == 3);
    next_address(made.handles[0], &found);
    CHECK(!found.failed && !found.is_some);
    drop_addresses(made.handles[0]);
    resolve(net, "[::1]", 5, &made);
    next_address(made.handles[0], &found);
    CHECK(!found.failed && found.is_some && found.version == 1 && found.more[5] == 1);
    drop_addresses(made.handles[0]);
    resolve(net, "two words", 9, &made);
    CHECK(made.failed && made.code == INVALID);
    resolve(net, "localhost", 9, &made);
    CHECK(!made.failed);
    wait_for(lookup_ready(made.handles[0]));
    next_address(made.handles[0], &found);
    CHECK(!found.failed && found.is_some);
    CHECK(found.version == 1 || found.bytes[0] == 127);
    drop_addresses(made.handles[0]);
    drop_network(net);
    return 0;
}

EXPORT("denied") u32 denied(void) {
    Handles made;
    u32 net = network();
    tcp_new(0, &made);
    CHECK(made.failed && made.code == DENIED);
    udp_new(1, &made);
    CHECK(made.failed && made.code == DENIED);
    resolve(net, "localhost", 9, &made);
    CHECK(made.failed && made.code == DENIED);
    return 0;
}

EXPORT("read-all") u32 read_all(u32 port) {
    Handles made;
    Done done;
    List list;
    u32 net = network(), total = 0;
    tcp_new(0, &made);
    u32 socket = made.handles[0];
    tcp_connect(socket, net, V4(port), &done);
    if (done.failed) return 1000 + done.code;
    wait_for(tcp_ready(socket));
    tcp_connected(socket, &made);
    if (made.failed) return 1000 + made.code;
    for (;;) {
        read_some(made.handles[0], 100, &list);
        if (list.failed) return total;
        total += list.len;
    }
}

EXPORT("bind") u32 bind_to(u32 port) {
    Handles made;
    Done done;
    tcp_new(0, &made);
    if (made.failed) return made.code;
    tcp_bind(made.handles[0], network(), V4(port), &done);
    return done.failed ? done.code : 0;
}
