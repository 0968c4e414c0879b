// Does to files and folders what C can, and says what came of it: the same as a program of preview 1 and of WASI 0.2.
// Build: clang-19 --target=wasm32-wasi --sysroot=/usr -O2 -Wl,--strip-debug files.c -o files.wasm

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void say(const char *what, long result) {
    printf("%s: %ld%s%s\n", what, result, result < 0 ? " " : "", result < 0 ? strerror(errno) : "");
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list(const char *path) {
    char *names[2000];
    int count = 0;
    DIR *dir = opendir(path);
    if (!dir) {
        say(path, -1);
        return;
    }
    for (struct dirent *entry; (entry = readdir(dir)) && count < 2000;) {
        char name[300];
        snprintf(name, sizeof name, "%s(%d)", entry->d_name, entry->d_type);
        names[count++] = strdup(name);
    }
    closedir(dir);
    qsort(names, count, sizeof *names, by_name);
    printf("%s:", path);
    for (int i = 0; i < count && i < 8; i++) printf(" %s", names[i]);
    printf(" %d\n", count);
}

static void files(void) {
    char buffer[100] = {0};
    struct stat st;
    int fd = open("/d/file", O_CREAT | O_RDWR | O_EXCL, 0644);
    say("create", fd >= 0);
    say("create again", open("/d/file", O_CREAT | O_RDWR | O_EXCL, 0644));
    say("write", write(fd, "hello, file", 11));
    say("seek", lseek(fd, 7, SEEK_SET));
    say("read", read(fd, buffer, 4));
    say(buffer, lseek(fd, 0, SEEK_CUR));
    say("read at the end", read(fd, buffer, 4));
    say("pwrite", pwrite(fd, "J", 1, 0));
    say("pread", pread(fd, buffer, 5, 0));
    puts(buffer);
    say("truncate", ftruncate(fd, 100000));
    say("stat", fstat(fd, &st));
    say("size", st.st_size);
    say("is regular", S_ISREG(st.st_mode));
    say("sync", fsync(fd));
    say("datasync", fdatasync(fd));
    struct timespec times[2] = {{1000, 5}, {2000, 7}};
    say("times", futimens(fd, times));
    say("stat", fstat(fd, &st));
    say("accessed", st.st_atim.tv_sec);
    say("modified", st.st_mtim.tv_sec * 10 + st.st_mtim.tv_nsec);
    say("close", close(fd));
    say("close again", close(fd));
    fd = open("/d/file", O_WRONLY | O_APPEND);
    say("append", write(fd, "end", 3));
    say("append", write(fd, "END", 3));
    close(fd);
    say("stat", stat("/d/file", &st));
    say("size", st.st_size);
    fd = open("/d/file", O_RDONLY);
    say("write to what is read only", write(fd, "x", 1));
    say("position", lseek(fd, -6, SEEK_END));
    memset(buffer, 0, sizeof buffer);
    say("read", read(fd, buffer, 50));
    puts(buffer);
    close(fd);
    fd = open("/d/file", O_RDWR | O_TRUNC);
    say("size", lseek(fd, 0, SEEK_END));
    close(fd);
}

static void folders(void) {
    char buffer[100] = {0};
    struct stat st;
    say("mkdir", mkdir("/d/folder", 0755));
    say("mkdir again", mkdir("/d/folder", 0755));
    say("open a folder to write", open("/d/folder", O_WRONLY));
    say("not a folder", open("/d/file", O_DIRECTORY));
    say("nothing there", open("/d/none", O_RDONLY));
    say("beyond", open("/d/../../etc/passwd", O_RDONLY));
    say("elsewhere", open("/etc/passwd", O_RDONLY));
    say("link", link("/d/file", "/d/folder/second"));
    say("stat", stat("/d/folder/second", &st));
    say("links", st.st_nlink);
    say("symlink", symlink("file", "/d/pointer"));
    say("readlink", readlink("/d/pointer", buffer, sizeof buffer));
    puts(buffer);
    say("lstat", lstat("/d/pointer", &st));
    say("is a link", S_ISLNK(st.st_mode));
    say("rename", rename("/d/folder/second", "/d/third"));
    list("/d");
    list("/d/folder");
    list("/d/none");
    say("rmdir of what is no folder", rmdir("/d/file"));
    say("unlink of a folder", unlink("/d/folder"));
    for (int i = 0; i < 1200; i++) {
        snprintf(buffer, sizeof buffer, "/d/folder/number-%04d", i);
        close(open(buffer, O_CREAT | O_WRONLY, 0644));
    }
    list("/d/folder");
    say("rmdir of a full one", rmdir("/d/folder"));
    for (int i = 0; i < 1200; i++) {
        snprintf(buffer, sizeof buffer, "/d/folder/number-%04d", i);
        unlink(buffer);
    }
    say("rmdir", rmdir("/d/folder"));
    say("unlink", unlink("/d/third"));
    say("unlink", unlink("/d/pointer"));
    list("/d");
    say("read only", open("/r/new", O_CREAT | O_WRONLY, 0644));
    say("read only", mkdir("/r/new", 0755));
    list("/r");
}

static void rest(void) {
    struct timespec before, after, time = {0, 20000000};
    clock_gettime(CLOCK_MONOTONIC, &before);
    say("sleep", nanosleep(&time, NULL));
    clock_gettime(CLOCK_MONOTONIC, &after);
    long passed = (after.tv_sec - before.tv_sec) * 1000000000L + (after.tv_nsec - before.tv_nsec);
    say("20 ms have passed", passed >= 20000000);
    clock_gettime(CLOCK_REALTIME, &after);
    say("it is after 2020", after.tv_sec > 1577836800);
    unsigned char bytes[64] = {0};
    say("random", getentropy(bytes, sizeof bytes));
    int set = 0;
    for (int i = 0; i < 64; i++) set += bytes[i] != 0;
    say("most are not 0", set > 32);
    struct pollfd fds[2] = {{0, POLLIN, 0}, {1, POLLOUT, 0}};
    say("poll", poll(fds, 2, 1000) > 0);
    char line[100];
    while (fgets(line, sizeof line, stdin)) printf("input: %s", line);
    say("end of input", feof(stdin));
    say("is a terminal", isatty(0) + isatty(1));
}

int main(int argc, char **argv) {
    for (int i = 0; i < argc; i++) printf("argument: %s\n", argv[i]);
    printf("variable: %s %s\n", getenv("COLOR"), getenv("EMPTY"));
    printf("no variable: %d\n", getenv("NONE") == NULL);
    files();
    folders();
    rest();
    fprintf(stderr, "to standard error\n");
    for (int i = 0; i < 20000; i++) printf("%d ", i);
    printf("\n");
    return 7;
}
