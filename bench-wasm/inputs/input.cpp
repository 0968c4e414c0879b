// A C++ file for cc1plus: no headers; classes, templates, virtual calls, lambdas, constant evaluation.

using size = decltype(sizeof 0);

template <typename T, size N>
class Stack {
  public:
    bool push(const T &value) {
        if (count == N) return false;
        items[count++] = value;
        return true;
    }
    T pop() { return items[--count]; }
    bool empty() const { return count == 0; }

    template <typename F>
    void each(F visit) const {
        for (size i = 0; i < count; i++) visit(items[i]);
    }

  private:
    T items[N]{};
    size count = 0;
};

class Shape {
  public:
    virtual long area() const = 0;
    virtual ~Shape() = default;

  protected:
    static constexpr long scale = 100;
};

class Square final : public Shape {
  public:
    explicit Square(long side) : side(side) {}
    long area() const override { return side * side * scale; }

  private:
    long side;
};

class Circle final : public Shape {
  public:
    explicit Circle(long radius) : radius(radius) {}
    long area() const override { return radius * radius * 314; }

  private:
    long radius;
};

void operator delete(void *, size) noexcept {}

constexpr unsigned fibonacci(unsigned n) {
    unsigned a = 0, b = 1;
    while (n--) {
        unsigned next = a + b;
        a = b;
        b = next;
    }
    return a;
}

static_assert(fibonacci(20) == 6765);

template <unsigned... I>
struct Table {
    static constexpr unsigned values[] = {fibonacci(I)...};
};

long total_area(const Shape *const *shapes, size count) {
    long total = 0;
    for (size i = 0; i < count; i++) total += shapes[i]->area();
    return total;
}

int main() {
    Square square(4);
    Circle circle(3);
    const Shape *shapes[] = {&square, &circle, &square};
    Stack<long, 16> stack;
    for (unsigned value : Table<1, 2, 3, 5, 8, 13>::values) stack.push(value);
    long sum = total_area(shapes, 3);
    stack.each([&sum](long value) { sum = sum * 3 + value; });
    while (!stack.empty()) sum -= stack.pop();
    return static_cast<int>(sum);
}
