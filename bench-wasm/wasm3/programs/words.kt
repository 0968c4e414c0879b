// Counts words of generated text, with objects, maps, sorting, closures, and exceptions.

sealed interface Token
data class Word(val text: String) : Token
data class Number(val value: Long) : Token
class Malformed(message: String) : Exception(message)

class Random(private var state: Int) {
    fun below(limit: Int): Int {
        state = state * 1103515245 + 12345
        return (state ushr 16) % limit
    }
}

fun text(random: Random, words: Int): String = buildString {
    repeat(words) {
        when (random.below(20)) {
            0 -> append(random.below(1000))
            1 -> append('?')
            else -> repeat(1 + random.below(3)) { append('a' + random.below(4)) }
        }
        append(' ')
    }
}

fun token(part: String): Token = when {
    part == "?" -> throw Malformed("a question")
    part[0].isDigit() -> Number(part.toLong())
    else -> Word(part)
}

fun main() {
    val random = Random(7)
    val counts = HashMap<String, Int>()
    var sum = 0L
    var malformed = 0
    repeat(30) {
        for (part in text(random, 400).split(' ').filter { it.isNotEmpty() }) {
            try {
                when (val found = token(part)) {
                    is Word -> counts[found.text] = (counts[found.text] ?: 0) + 1
                    is Number -> sum += found.value
                }
            } catch (error: Malformed) {
                malformed += 1
            }
        }
    }
    counts.entries.sortedWith(compareBy({ -it.value }, { it.key })).take(5).forEach { (word, count) -> println("$count $word") }
    println("sum $sum, $malformed malformed, ${counts.size} words")
}
