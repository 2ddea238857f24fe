#include "core/nearest.h"

#include <ctype.h>
#include <string.h>

enum { LONGEST = 63 };

static int smaller(int a, int b) { return a < b ? a : b; }

/* Edit distance in half points (Levenshtein; a letter in the other case costs one half point). */
static int distance(const char *a, const char *b) {
    int length = (int)strnlen(b, LONGEST), row[LONGEST + 1];
    for (int j = 0; j <= length; j++) row[j] = 2 * j;
    for (int i = 0; i < LONGEST && a[i]; i++) {
        int diagonal = row[0];
        row[0] += 2;
        for (int j = 0; j < length; j++) {
            bool same_letter = tolower((unsigned char)a[i]) == tolower((unsigned char)b[j]);
            int replace = diagonal + (a[i] == b[j] ? 0 : same_letter ? 1 : 2);
            diagonal = row[j + 1];
            row[j + 1] = smaller(replace, smaller(row[j], row[j + 1]) + 2);
        }
    }
    return row[length];
}

int cm_nearest_name(const char *word, const void *rows, int count, const char *(*name)(const void *rows, int i)) {
    int best = 0, best_distance = distance(word, name(rows, 0));
    for (int i = 1; i < count; i++) {
        int d = distance(word, name(rows, i));
        if (d < best_distance) best = i, best_distance = d;
    }
    return best;
}
