// errors: a parser and calculator that reports what is wrong by exceptions, and gives back what it holds on the way.
// Usage: errors [ROUNDS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

static int held, most;

struct Held {
    Held() { most = std::max(most, ++held); }
    ~Held() { held--; }
};

struct SyntaxError : std::runtime_error {
    size_t at;
    SyntaxError(const std::string &what, size_t at) : std::runtime_error(what), at(at) {}
};

struct DivisionByZero : std::domain_error {
    DivisionByZero() : std::domain_error("division by zero") {}
};

struct Node {
    Held held;
    virtual ~Node() = default;
    virtual int value() const = 0;
};

struct Number : Node {
    int number;
    explicit Number(int number) : number(number) {}
    int value() const override { return number; }
};

struct Operation : Node {
    char name;
    std::unique_ptr<Node> left, right;
    Operation(char name, std::unique_ptr<Node> left, std::unique_ptr<Node> right)
        : name(name), left(std::move(left)), right(std::move(right)) {}
    int value() const override {
        int a = left->value(), b = right->value();
        switch (name) {
        case '+': return a + b;
        case '-': return a - b;
        case '*': return a * b;
        default:
            if (b == 0) throw DivisionByZero();
            return a / b;
        }
    }
};

class Parser {
    const std::string &text;
    size_t at = 0;

    char next() const { return at < text.size() ? text[at] : '\0'; }

    std::unique_ptr<Node> atom() {
        if (next() == '(') {
            at++;
            auto inner = sum();
            if (next() != ')') throw SyntaxError("`)` is missing", at);
            at++;
            return inner;
        }
        if (next() < '0' || next() > '9') throw SyntaxError("a number is missing", at);
        int number = 0;
        while (next() >= '0' && next() <= '9') {
            if (number > 99999) throw int(at);
            number = 10 * number + (text[at++] - '0');
        }
        return std::make_unique<Number>(number);
    }

    std::unique_ptr<Node> product() {
        auto left = atom();
        while (next() == '*' || next() == '/') {
            char name = text[at++];
            left = std::make_unique<Operation>(name, std::move(left), atom());
        }
        return left;
    }

    std::unique_ptr<Node> sum() {
        auto left = product();
        while (next() == '+' || next() == '-') {
            char name = text[at++];
            left = std::make_unique<Operation>(name, std::move(left), product());
        }
        return left;
    }

  public:
    explicit Parser(const std::string &text) : text(text) {}

    std::unique_ptr<Node> whole() {
        auto all = sum();
        if (at < text.size()) throw SyntaxError("more than an expression", at);
        return all;
    }
};

// Passes on what is not about the text, with a note.
static int calculate(const std::string &text, int &notes) {
    try {
        return Parser(text).whole()->value();
    } catch (const SyntaxError &error) {
        return -1 - int(error.at);
    } catch (...) {
        notes++;
        throw;
    }
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? std::atoi(argv[1]) : 2000;
    const std::vector<std::string> texts = {"1+2*3", "(4+5)*(6-7)", "8/(2-2)", "(1", "12+", "7*7*7-1", "12345678", "1+2)", "((((9))))/3"};
    int sum = 0, notes = 0, zeros = 0, large = 0;
    for (int round = 0; round < rounds; round++) {
        for (const auto &text : texts) {
            try {
                sum += calculate(text, notes);
            } catch (const std::logic_error &error) {
                zeros += error.what()[0] == 'd';
            } catch (int at) {
                large += at;
            }
        }
    }
    std::printf("sum %d, notes %d, zeros %d, large %d; held %d, at most %d\n", sum, notes, zeros, large, held, most);
    try {
        Parser("2*(3+x)").whole();
    } catch (const std::exception &error) {
        std::printf("%s\n", error.what());
    }
}
