// A branch that goes either way by chance.
#include <cstdint>
#include <cstdio>
#include <vector>

static uint32_t seed = 42;
static uint32_t rnd() { seed ^= seed << 13; seed ^= seed >> 17; seed ^= seed << 5; return seed; }

int main() {
    std::vector<uint8_t> coins(1 << 16);
    for (auto &coin : coins) coin = rnd() >> 24;
    volatile uint32_t heads = 0;
    for (int round = 0; round < 600; round++)
        for (size_t at = 0; at < coins.size(); at++)
            if (coins[at] < 128) heads = heads + 1; // PLANTED
    std::printf("%u\n", heads);
}
