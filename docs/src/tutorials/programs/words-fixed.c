// Counts the words of a text, and prints the most frequent ones: words.c as docs/src/tutorials/slow-program.md leaves it.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct word {
    const char *text;
    unsigned count;
    struct word *next;
    struct word *in_bucket;
};

static struct word *words, **last = &words;
static struct word *buckets[1024];

static void make_lower(char *text) {
    for (; *text; text++)
        *text = (char)tolower((unsigned char)*text);
}

static void count(const char *text) {
    unsigned hash = 5381;
    for (const char *at = text; *at; at++)
        hash = hash * 33 + (unsigned char)*at;
    struct word **link = &buckets[hash % 1024];
    for (; *link; link = &(*link)->in_bucket) {
        if (strcmp((*link)->text, text) == 0) {
            (*link)->count++;
            return;
        }
    }
    *last = *link = calloc(1, sizeof **link);
    (*link)->text = text;
    (*link)->count = 1;
    last = &(*link)->next;
}

// A text of made-up words, the same each time.
static char *make_text(size_t length) {
    static const char *const syllables[] = {"Ba", "de", "Fi", "go", "hu", "la", "Mer", "ni", "pos", "tu"};
    char *text = calloc(length + 16, 1), *end = text;
    unsigned seed = 1;
    while (end < text + length) {
        for (unsigned more = 1; more; more = seed >> 30) {
            seed = seed * 1664525 + 1013904223;
            end = stpcpy(end, syllables[(seed >> 16) % 10]);
        }
        *end++ = ' ';
    }
    return text;
}

int main(int argc, char **argv) {
    char *text = make_text(argc > 1 ? strtoul(argv[1], NULL, 10) : 8000);
    make_lower(text);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        count(word);
    for (int line = 0; line < 3; line++) {
        struct word *most = words;
        for (struct word *word = words; word; word = word->next)
            if (word->count > most->count)
                most = word;
        printf("%u %s\n", most->count, most->text);
        most->count = 0;
    }
}
