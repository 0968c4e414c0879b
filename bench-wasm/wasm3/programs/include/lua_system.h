// What WASI has no calls for, for Lua's library.
#include <stdio.h>
static inline FILE *no_tmpfile(void) { return NULL; }
static inline int no_system(const char *command) { return command ? -1 : 0; }
#define tmpfile no_tmpfile
#define system no_system
#define lua_tmpnam(buffer, failed) ((void)(buffer), (failed) = 1)
#define LUA_TMPNAMBUFSIZE 32
