// A queue of text that is eaten from its front: each `erase` moves all that is left.
#include <cstdio>
#include <string>

int main() {
    std::string queue;
    for (int i = 0; i < 20000; i++) queue += "token ";
    long words = 0;
    while (!queue.empty()) {
        words += queue[0] == 't';
        queue.erase(0, 6); // PLANTED
    }
    std::printf("%ld words\n", words);
}
