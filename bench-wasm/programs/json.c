// json: generates a JSON text, parses it into a tree, walks the tree, prints it back; stresses recursive descent,
// byte scanning, number conversion and small allocations. Built with debug information.
// Usage: json [RECORDS] [ROUNDS]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- memory: everything lives in one arena that is emptied between rounds

static char *arena, *arena_end, *arena_next;

static void *allocate(size_t bytes) {
    char *p = arena_next;
    arena_next += (bytes + 7) & ~(size_t)7;
    if (arena_next > arena_end) {
        puts("json: arena is full");
        exit(1);
    }
    return p;
}

// ---- text under construction

typedef struct {
    char *start, *next;
} Text;

static void put_char(Text *t, char c) { *t->next++ = c; }

static void put_string(Text *t, const char *s) {
    while (*s) put_char(t, *s++);
}

static void put_integer(Text *t, int64_t value) {
    char digits[20];
    int n = 0;
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do digits[n++] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0) put_char(t, '-');
    while (n) put_char(t, digits[--n]);
}

static void put_quoted(Text *t, const char *s) {
    put_char(t, '"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') put_char(t, '\\'), put_char(t, *s);
        else if (*s == '\n') put_string(t, "\\n");
        else put_char(t, *s);
    }
    put_char(t, '"');
}

// ---- the tree

typedef enum { NUL, BOOLEAN, NUMBER, STRING, ARRAY, OBJECT } Kind;

typedef struct Node Node;
struct Node {
    Kind kind;
    Node *next;       // sibling in an array or object
    const char *key;  // name in an object
    union {
        int boolean;
        double number;
        const char *string;
        Node *first;
    };
};

typedef struct {
    const char *at;
} Parser;

static void fail(const char *what) {
    printf("json: expected %s\n", what);
    exit(1);
}

static void skip_space(Parser *p) {
    while (*p->at == ' ' || *p->at == '\n' || *p->at == '\t') p->at++;
}

static int accept(Parser *p, char c) {
    skip_space(p);
    if (*p->at != c) return 0;
    p->at++;
    return 1;
}

static void accept_word(Parser *p, const char *word) {
    while (*word)
        if (*p->at++ != *word++) fail("null, true or false");
}

static char unescape(char c) { return c == 'n' ? '\n' : c == 't' ? '\t' : c; }

static const char *parse_string(Parser *p) {
    const char *scan = p->at;
    while (*scan != '"') scan += *scan == '\\' ? 2 : 1;
    char *copy = allocate((size_t)(scan - p->at) + 1), *out = copy;
    while (*p->at != '"') {
        char c = *p->at++;
        *out++ = c == '\\' ? unescape(*p->at++) : c;
    }
    p->at++;
    *out = 0;
    return copy;
}

static int is_digit(char c) { return c >= '0' && c <= '9'; }

static double parse_number(Parser *p) {
    int negative = *p->at == '-';
    p->at += negative;
    if (!is_digit(*p->at)) fail("a value");
    double value = 0, scale = 1;
    while (is_digit(*p->at)) value = value * 10 + (*p->at++ - '0');
    if (*p->at == '.')
        for (p->at++; is_digit(*p->at); scale *= 10) value = value * 10 + (*p->at++ - '0');
    value /= scale;
    return negative ? -value : value;
}

static Node *parse_value(Parser *p);

static Node *parse_members(Parser *p, char close, int keyed) {
    Node *first = NULL, **end = &first;
    if (accept(p, close)) return first;
    do {
        const char *key = NULL;
        if (keyed) {
            if (!accept(p, '"')) fail("a key");
            key = parse_string(p);
            if (!accept(p, ':')) fail("a colon");
        }
        *end = parse_value(p);
        (*end)->key = key;
        end = &(*end)->next;
    } while (accept(p, ','));
    if (!accept(p, close)) fail("a comma or a closing bracket");
    return first;
}

static Node *parse_value(Parser *p) {
    Node *node = allocate(sizeof *node);
    *node = (Node){0};
    skip_space(p);
    switch (*p->at) {
        case 'n': accept_word(p, "null"); break;
        case 't': accept_word(p, "true"), node->kind = BOOLEAN, node->boolean = 1; break;
        case 'f': accept_word(p, "false"), node->kind = BOOLEAN; break;
        case '"': p->at++, node->kind = STRING, node->string = parse_string(p); break;
        case '[': p->at++, node->kind = ARRAY, node->first = parse_members(p, ']', 0); break;
        case '{': p->at++, node->kind = OBJECT, node->first = parse_members(p, '}', 1); break;
        default: node->kind = NUMBER, node->number = parse_number(p);
    }
    return node;
}

static void print_value(Text *t, const Node *node) {
    switch (node->kind) {
        case NUL: put_string(t, "null"); break;
        case BOOLEAN: put_string(t, node->boolean ? "true" : "false"); break;
        case NUMBER: put_integer(t, (int64_t)(node->number * 1000)); break;
        case STRING: put_quoted(t, node->string); break;
        case ARRAY:
        case OBJECT:
            put_char(t, node->kind == ARRAY ? '[' : '{');
            for (const Node *n = node->first; n; n = n->next) {
                if (n->key) put_quoted(t, n->key), put_char(t, ':');
                print_value(t, n);
                if (n->next) put_char(t, ',');
            }
            put_char(t, node->kind == ARRAY ? ']' : '}');
    }
}

static const Node *member(const Node *object, const char *key) {
    const Node *n = object->first;
    while (n && strcmp(n->key, key)) n = n->next;
    return n;
}

// ---- the input

static uint32_t random_state = 7;
static uint32_t random_below(uint32_t n) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 12) % n;
}

static const char *const names[] = {"Ada", "Grace", "Barbara \"B\"", "Edsger", "Alan\\T", "Tony\nH", "Niklaus", "Donald"};

static void generate_record(Text *t, int id) {
    put_string(t, "  {\"id\": ");
    put_integer(t, id);
    put_string(t, ", \"name\": ");
    put_quoted(t, names[random_below(8)]);
    put_string(t, ", \"active\": ");
    put_string(t, random_below(3) ? "true" : "false");
    put_string(t, ", \"manager\": ");
    if (random_below(4)) put_integer(t, random_below((uint32_t)id + 1));
    else put_string(t, "null");
    put_string(t, ",\n   \"scores\": [");
    for (uint32_t i = 0, n = 1 + random_below(8); i < n; i++) {
        if (i) put_string(t, ", ");
        put_integer(t, (int64_t)random_below(2000) - 1000);
        put_string(t, ".5");
    }
    put_string(t, "]}");
}

static void generate(Text *t, int records) {
    put_string(t, "{\"version\": 1, \"records\": [\n");
    for (int i = 0; i < records; i++) {
        if (i) put_string(t, ",\n");
        generate_record(t, i);
    }
    put_string(t, "\n]}\n");
    put_char(t, 0);
}

static double active_score(const Node *root) {
    double total = 0;
    for (const Node *r = member(root, "records")->first; r; r = r->next) {
        if (!member(r, "active")->boolean) continue;
        for (const Node *s = member(r, "scores")->first; s; s = s->next) total += s->number;
    }
    return total;
}

static uint32_t checksum(const char *s) {
    uint32_t h = 2166136261u;
    while (*s) h = (h ^ (uint8_t)*s++) * 16777619u;
    return h;
}

int main(int argc, char **argv) {
    int records = argc > 1 ? atoi(argv[1]) : 4000;
    int rounds = argc > 2 ? atoi(argv[2]) : 150;
    size_t text_size = 256 * (size_t)records + 256, tree_size = 1024 * (size_t)records + 4096;
    Text input = {0}, output = {0};
    input.start = input.next = malloc(text_size);
    output.start = malloc(text_size);
    arena = malloc(tree_size);
    if (!input.start || !output.start || !arena) return 1;
    arena_end = arena + tree_size;
    generate(&input, records);
    double total = 0;
    for (int i = 0; i < rounds; i++) {
        arena_next = arena;
        output.next = output.start;
        Node *root = parse_value(&(Parser){input.start});
        total += active_score(root);
        print_value(&output, root);
        put_char(&output, 0);
    }
    printf("json %d x %d: %ld bytes in, %ld out, score %lld, checksum %08x\n", records, rounds,
           (long)(input.next - input.start), (long)(output.next - output.start), (long long)(total * 2),
           checksum(output.start));
    return 0;
}
