#include "core/nearest.h"

#include <ctype.h>
#include <string.h>

enum { LONGEST = 63 };

static int smaller(int a, int b) { return a < b ? a : b; }

/* Half points for a letter in the place of another. */
static int replacement(char a, char b) {
    if (a == b) return 0;
    return tolower((unsigned char)a) == tolower((unsigned char)b) ? 1 : 2;
}

/* Edit distance in half points (optimal string alignment): rows i - 2, i - 1 and i of its table. */
static int distance(const char *a, const char *b) {
    int rows[3][LONGEST + 1], length = (int)strnlen(b, LONGEST), i = 0;
    for (int j = 0; j <= length; j++) rows[0][j] = 2 * j;
    for (; i < LONGEST && a[i]; i++) {
        const int *above = rows[i % 3], *second = rows[(i + 2) % 3];
        int *row = rows[(i + 1) % 3];
        row[0] = above[0] + 2;
        for (int j = 0; j < length; j++) {
            int other = smaller(above[j + 1], row[j]) + 2;
            row[j + 1] = smaller(above[j] + replacement(a[i], b[j]), other);
            if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j]) {
                row[j + 1] = smaller(row[j + 1], second[j - 1] + 2);
            }
        }
    }
    return rows[i % 3][length];
}

/* How many letters were left out if `word` is short for `name`, as num_sims for num_simulations or --steps for
 * --env-steps; -1 if it is not. The first letter may not be left out, and of what is not the beginning of the name no
 * more than two letters for one that is there: those of foo stand in final_evaluation_episodes, too. */
static int left_out(const char *word, const char *name) {
    int length = (int)strnlen(word, LONGEST), total = (int)strnlen(name, LONGEST);
    if (length < 3 || word[0] != name[0]) return -1;
    if (total > 3 * length && strncmp(word, name, (size_t)length) != 0) return -1;
    for (; *word && *name; name++) word += *word == *name;
    return *word ? -1 : total - length;
}

static bool is_dash(char c) { return c == '_' || c == '-'; }

/* How many words there are before `word` if it is the last one of several, the one that says what the name is for: loss
 * in total_loss, not in loss_scale; -1 if it is not. */
static int words_before(const char *word, const char *name) {
    const size_t length = strlen(word), total = strlen(name);
    int words = 0;
    if (length < 3 || total <= length) return -1;
    const char *last = name + total - length;
    if (!is_dash(last[-1]) || strcmp(last, word) != 0) return -1;
    for (; name < last; name++) words += is_dash(*name);
    return words;
}

/* What `word` is from `name`; last words, short forms, and names with letters after them as in "evaluate" for eval
 * come before slips of more than one letter. */
static int cost(const char *word, const char *name) {
    size_t whole = strnlen(name, LONGEST);
    int missing = words_before(word, name), slips = distance(word, name) * (LONGEST + 1);
    if (missing < 0) missing = left_out(word, name);
    if (whole >= 3 && strncmp(word, name, whole) == 0) missing = (int)(strnlen(word, LONGEST) - whole);
    return missing >= 0 ? smaller(slips, LONGEST + 1 + missing) : slips;
}

int cm_nearest_name(const char *word, const void *rows, int count, const char *(*name)(const void *rows, int i)) {
    int most = ((int)strnlen(word, LONGEST) * 4 + 4) / 5, best = -1, limit = (most > 2 ? most : 2) * (LONGEST + 1);
    for (int i = 0; i < count; i++) {
        int c = cost(word, name(rows, i));
        if (best >= 0 ? c < limit : c <= limit) best = i, limit = c;
    }
    return best;
}
