// A C file for cc1: no headers, a bit of everything that an optimizing compiler looks at.

typedef unsigned char u8;
typedef unsigned int u16;
typedef unsigned long u32;

struct node {
    struct node *left, *right;
    u16 key, value;
};

static struct node pool[64];
static u8 used;

struct ring {
    volatile u8 head, tail;
    u8 data[32];
};

struct ring serial;

int ring_put(struct ring *r, u8 byte) {
    u8 next = (u8)((r->head + 1) & 31);
    if (next == r->tail) return 0;
    r->data[r->head] = byte;
    r->head = next;
    return 1;
}

int ring_get(struct ring *r) {
    if (r->head == r->tail) return -1;
    u8 byte = r->data[r->tail];
    r->tail = (u8)((r->tail + 1) & 31);
    return byte;
}

struct node *insert(struct node **root, u16 key, u16 value) {
    while (*root) {
        if (key == (*root)->key) {
            (*root)->value = value;
            return *root;
        }
        root = key < (*root)->key ? &(*root)->left : &(*root)->right;
    }
    if (used == 64) return 0;
    struct node *n = &pool[used++];
    n->left = n->right = 0;
    n->key = key;
    n->value = value;
    return *root = n;
}

u32 sum_tree(const struct node *n) {
    return n ? sum_tree(n->left) + n->value + sum_tree(n->right) : 0;
}

u16 crc16(const u8 *data, u16 size) {
    u16 crc = 0xffff;
    for (u16 i = 0; i < size; i++) {
        crc ^= (u16)data[i] << 8;
        for (u8 bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (u16)(crc << 1) ^ 0x1021 : (u16)(crc << 1);
    }
    return crc;
}

u16 square_root(u32 x) {
    u32 result = 0, bit = 1ul << 30;
    while (bit > x) bit >>= 2;
    for (; bit; bit >>= 2) {
        if (x >= result + bit) {
            x -= result + bit;
            result = (result >> 1) + bit;
        } else {
            result >>= 1;
        }
    }
    return (u16)result;
}

enum command { STOP, LEFT, RIGHT, FORWARD, BACK, SPIN, REPORT };

int drive(enum command c, int speed, int *left, int *right) {
    switch (c) {
        case STOP: *left = *right = 0; break;
        case LEFT: *left = speed / 2, *right = speed; break;
        case RIGHT: *left = speed, *right = speed / 2; break;
        case FORWARD: *left = *right = speed; break;
        case BACK: *left = *right = -speed; break;
        case SPIN: *left = speed, *right = -speed; break;
        case REPORT: return ring_put(&serial, (u8)speed);
    }
    return *left + *right;
}

float smooth(const float *samples, u8 count) {
    float mean = 0, weight = 1;
    for (u8 i = 0; i < count; i++, weight *= 0.75f) mean += (samples[i] - mean) * weight;
    return mean;
}

int main(void) {
    struct node *root = 0;
    u16 key = 7;
    for (u8 i = 0; i < 100; i++, key = key * 75 + 74) insert(&root, key, i);
    return (int)(sum_tree(root) + crc16((const u8 *)pool, sizeof pool) + square_root(123456789ul));
}
