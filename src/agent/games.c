#include "agent/games.h"

#include <math.h>
#include <string.h>

#include "core/file.h"
#include "core/json.h"

void cm_evaluation_summarise(const double *results, int n, cm_evaluation *out) {
    *out = (cm_evaluation){.episodes = n, .min = results[0], .max = results[0]};
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < n; i++) {
        sum += results[i];
        out->min = fmin(out->min, results[i]);
        out->max = fmax(out->max, results[i]);
        out->wins += results[i] > 0.0;
        out->losses += results[i] < 0.0;
    }
    out->draws = n - out->wins - out->losses;
    out->mean = sum / n;
    for (int i = 0; i < n; i++) squares += (results[i] - out->mean) * (results[i] - out->mean);
    out->std = n > 1 ? sqrt(squares / (n - 1)) : 0.0;
    double half = 1.96 * out->std / sqrt((double)n);
    out->low = out->mean - half;
    out->high = out->mean + half;
}

void cm_games_score(const cm_games *games, cm_score *out) {
    memset(out, 0, sizeof *out);
    cm_evaluation_summarise(games->result, games->count, &out->all);
    for (int i = 0; i < games->count; i++) {
        cm_side_score *side = games->theirs[i] ? &out->second : &out->first;
        side->games++;
        side->wins += games->result[i] > 0.0;
        side->losses += games->result[i] < 0.0;
        side->draws += games->result[i] == 0.0;
        out->all.steps += games->length[i];
    }
    out->all.mean_length = (double)out->all.steps / games->count;
}

/* ---- files ---- */

static cm_status append_game(const cm_games *games, int i, const char *first, cm_file_writer *file) {
    cm_json_writer *json = NULL;
    size_t size = 0;
    double result = games->theirs[i] ? 0.0 - games->result[i] : games->result[i]; /* never -0 */
    CM_TRY(cm_json_writer_create(0, &json));
    cm_json_begin_object(json, NULL);
    cm_json_begin_array(json, "moves");
    for (int k = 0; k < games->length[i]; k++) {
        cm_json_put_int(json, NULL, games->moves[(size_t)i * (size_t)games->stride + (size_t)k]);
    }
    cm_json_end_array(json);
    cm_json_put_string(json, "first", first);
    cm_json_begin_array(json, "rewards");
    cm_json_put_double(json, NULL, result);
    cm_json_put_double(json, NULL, 0.0 - result);
    cm_json_end_array(json);
    cm_json_end_object(json);
    const char *text = cm_json_writer_text(json, &size);
    cm_status status = text ? cm_file_append(file, text, size) : CM_ERR_MEMORY;
    if (status == CM_OK) status = cm_file_append(file, "\n", 1);
    cm_json_writer_destroy(json);
    return status;
}

cm_status cm_games_save(const cm_games *games, const char *ours, const char *theirs, const char *path) {
    cm_file_writer *file = NULL;
    if (games->stride == 0) return cm_fail(CM_ERR_STATE, "%s: the moves of these games were not kept", path);
    CM_TRY(cm_file_begin(path, &file));
    for (int i = 0; i < games->count; i++) {
        cm_status status = append_game(games, i, games->theirs[i] ? theirs : ours, file);
        if (status == CM_OK) continue;
        cm_file_abandon(file);
        return status;
    }
    return cm_file_commit(file);
}
