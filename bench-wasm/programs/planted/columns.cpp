// The sum of a matrix, column by column: each step is a cache miss.
#include <cstdio>
#include <vector>

constexpr int N = 2048;

struct Matrix {
    std::vector<float> cells = std::vector<float>(N * N, 0.5f);
};

static float total(const Matrix &matrix) {
    float sum = 0;
    for (int x = 0; x < N; x++)
        for (int y = 0; y < N; y++)
            sum += matrix.cells[y * N + x]; // PLANTED
    return sum;
}

int main() {
    Matrix matrix;
    float sum = 0;
    for (int round = 0; round < 12; round++) {
        matrix.cells[round] = round;
        sum += total(matrix);
    }
    std::printf("%.0f\n", sum);
}
