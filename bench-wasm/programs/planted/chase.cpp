// A list of objects of several types in random order: each virtual call waits for memory.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

struct Shape {
    Shape *next = nullptr;
    float side = 1, padding[13] = {};
    virtual ~Shape() = default;
    virtual float area() const = 0;
};
struct Square : Shape { float area() const override { return side * side; } };
struct Circle : Shape { float area() const override { return side * side * 3.14f; } };
struct Strip : Shape { float area() const override { return side; } };

static uint32_t seed = 42;
static uint32_t rnd() { seed ^= seed << 13; seed ^= seed >> 17; seed ^= seed << 5; return seed; }

int main() {
    std::vector<std::unique_ptr<Shape>> all;
    for (int i = 0; i < 100000; i++) {
        switch (rnd() % 3) {
        case 0: all.push_back(std::make_unique<Square>()); break;
        case 1: all.push_back(std::make_unique<Circle>()); break;
        default: all.push_back(std::make_unique<Strip>());
        }
    }
    for (size_t i = all.size() - 1; i > 0; i--) std::swap(all[i], all[rnd() % (i + 1)]);
    for (size_t i = 1; i < all.size(); i++) all[i - 1]->next = all[i].get();
    float sum = 0;
    for (int frame = 0; frame < 40; frame++)
        for (Shape *shape = all[0].get(); shape; shape = shape->next)
            sum += shape->area(); // PLANTED
    std::printf("%.0f\n", sum);
}
