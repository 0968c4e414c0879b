// lua: runs a script, from a file or from the input; its arguments are in the table `arg`.
// Usage: lua [FILE [ARGUMENTS]]
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>

static int traced(lua_State *L) {
    luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
    return 1;
}

int main(int argc, char **argv) {
    lua_State *L = luaL_newstate();
    if (!L) return 1;
    luaL_openlibs(L);
    lua_newtable(L);
    for (int n = 1; n < argc; n++) {
        lua_pushstring(L, argv[n]);
        lua_rawseti(L, -2, n - 1);
    }
    lua_setglobal(L, "arg");
    lua_pushcfunction(L, traced);
    int failed = luaL_loadfile(L, argc > 1 ? argv[1] : NULL) || lua_pcall(L, 0, 0, -2);
    if (failed) fprintf(stderr, "lua: %s\n", lua_tostring(L, -1));
    lua_close(L);
    return failed;
}
