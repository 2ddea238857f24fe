/* Commands of the Go Text Protocol for Go alone: komi, rules, handicap, stones at the end. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/gtp.h"
#include "cli/gtp_sgf.h"

/* ---- komi and rules ---- */

static cm_status run_komi(cm_gtp *gtp) {
    double komi;
    CM_TRY(cm_gtp_real(gtp, 1, &komi));
    cm_env_params params = gtp->env->params;
    CM_TRY(cm_env_params_set(&params, "komi", komi));
    gtp->env->params.komi = komi;
    return CM_OK;
}

static cm_status run_get_komi(cm_gtp *gtp) {
    cm_text_add(&gtp->answer, "%g", gtp->env->params.komi);
    return CM_OK;
}

/* In the words of KataGo's rules. */
#define RULES "positional superko, area scoring, no tax, no suicide, no button"

static cm_status run_get_rules(cm_gtp *gtp) {
    cm_text_add(&gtp->answer, "{\"friendlyPassOk\": false, \"hasButton\": false, \"ko\": \"POSITIONAL\", \"scoring\": "
                              "\"AREA\", \"suicide\": false, \"tax\": \"NONE\", \"whiteHandicapBonus\": \"0\"}");
    return CM_OK;
}

/* A member of rules in JSON, and what it must be here; the text may have blanks anywhere. */
static bool has_other(const char *rules, const char *member, const char *wanted) {
    const char *at = strcasestr(rules, member);
    if (!at) return false;
    at += strlen(member);
    at += strspn(at, " \":");
    return strncasecmp(at, wanted, strlen(wanted)) != 0;
}

static bool fit(const char *rules) {
    if (rules[0] != '{') return strcasecmp(rules, "chinese-kgs") == 0 || strcasecmp(rules, "chinese-ogs") == 0;
    return !has_other(rules, "\"ko\"", "positional") && !has_other(rules, "\"scoring\"", "area") &&
           !has_other(rules, "\"tax\"", "none") && !has_other(rules, "\"suicide\"", "false") &&
           !has_other(rules, "\"hasButton\"", "false") && !has_other(rules, "\"whiteHandicapBonus\"", "0");
}

static cm_status run_set_rules(cm_gtp *gtp) {
    char rules[1024] = "";
    size_t used = 0;
    for (int i = 1; i < gtp->words && used < sizeof rules; i++)
        used += (size_t)snprintf(rules + used, sizeof rules - used, "%s", gtp->word[i]);
    if (fit(rules)) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "unknown rules: the run plays by chinese-kgs (" RULES ")");
}

/* ---- handicap ---- */

static cm_status need_empty_board(cm_gtp *gtp) {
    int32_t cells[CM_GO_POINTS];
    cm_gtp_position_cells(&gtp->game, cells);
    for (int cell = 0; cell < gtp->env->spec.cells; cell++)
        if (cells[cell] != 0) return cm_fail(CM_ERR_INPUT, "board not empty");
    return CM_OK;
}

static void add_vertex(cm_gtp *gtp, int32_t action) {
    char name[CM_GTP_VERTEX];
    cm_gtp_vertex(gtp->env, action, name);
    cm_text_add(&gtp->answer, "%s%s", gtp->answer.used ? " " : "", name);
}

/* The stones of section 4.1.1 of the specification, as steps (column, row) from the middle, in the order in which
 * they are added; of five or seven and nine the last is the middle. */
static const signed char places[8][2] = {{-1, -1}, {1, 1}, {-1, 1}, {1, -1}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}};

static int most_handicap(int n) { return n < 7 ? 0 : n % 2 == 0 || n == 7 ? 4 : 9; }

static int32_t place(int n, int index) {
    const int edge = n < 13 ? 2 : 3, at[3] = {edge, n / 2, n - 1 - edge};
    return (n - 1 - at[places[index][1] + 1]) * n + at[places[index][0] + 1];
}

static cm_status run_fixed_handicap(cm_gtp *gtp) {
    int32_t stones[CM_GO_POINTS] = {0};
    int count;
    const int n = gtp->env->params.size;
    CM_TRY(cm_gtp_int(gtp, 1, &count));
    CM_TRY(need_empty_board(gtp));
    if (most_handicap(n) == 0) return cm_fail(CM_ERR_INPUT, "invalid number of stones: none on %d x %d", n, n);
    if (count < 2 || count > most_handicap(n))
        return cm_fail(CM_ERR_INPUT, "invalid number of stones: 2 to %d on %d x %d", most_handicap(n), n, n);
    const bool has_middle = count >= 5 && count % 2 == 1;
    for (int i = 0; i < count; i++) {
        const int32_t point = has_middle && i == count - 1 ? (n / 2) * n + n / 2 : place(n, i);
        stones[point] = 1;
        add_vertex(gtp, point);
    }
    return cm_gtp_position_set_up(&gtp->game, stones, 1);
}

/* Stones that the agent would play if White passed. */
static cm_status run_place_free_handicap(cm_gtp *gtp) {
    int32_t stones[CM_GO_POINTS] = {0};
    uint8_t barred[CM_GO_POINTS + 1] = {0};
    int count;
    barred[gtp->env->spec.cells] = 1;
    CM_TRY(cm_gtp_int(gtp, 1, &count));
    CM_TRY(need_empty_board(gtp));
    if (count < 2 || count >= gtp->env->spec.cells) return cm_fail(CM_ERR_INPUT, "invalid number of stones");
    cm_gtp_position_clear(&gtp->game);
    for (int i = 0; i < count; i++) {
        int32_t action;
        CM_TRY(cm_gtp_choose(gtp, 0, barred, &action));
        if (action == gtp->env->spec.cells) break;
        CM_TRY(cm_gtp_position_play(&gtp->game, 0, action));
        stones[action] = 1;
        add_vertex(gtp, action);
    }
    return cm_gtp_position_set_up(&gtp->game, stones, 1);
}

static cm_status run_set_free_handicap(cm_gtp *gtp) {
    int32_t stones[CM_GO_POINTS] = {0};
    CM_TRY(need_empty_board(gtp));
    for (int i = 1; i < gtp->words; i++) {
        const int32_t action = cm_gtp_parse_vertex(gtp->env, gtp->word[i]);
        if (action < 0 || action >= gtp->env->spec.cells || stones[action])
            return cm_fail(CM_ERR_INPUT, "bad vertex list");
        stones[action] = 1;
    }
    return cm_gtp_position_set_up(&gtp->game, stones, 1);
}

/* ---- stones at the end ---- */

/* The chains as lines of vertices. The rules count every stone that stands there as alive. */
static void add_chains(cm_gtp *gtp) {
    const cm_go *go = gtp->game.go;
    for (int head = 0; head < gtp->env->spec.cells; head++) {
        if (cm_go_colour(go, head) == 0 || cm_go_head(go, head) != head) continue;
        int point = head;
        const char *before = gtp->answer.used ? "\n" : "";
        do {
            char name[CM_GTP_VERTEX];
            cm_gtp_vertex(gtp->env, point, name);
            cm_text_add(&gtp->answer, "%s%s", before, name);
            before = " ";
            point = cm_go_next(go, point);
        } while (point != head);
    }
}

static cm_status run_final_status_list(cm_gtp *gtp) {
    const char *status = gtp->word[1];
    if (strcasecmp(status, "alive") == 0) {
        add_chains(gtp);
        return CM_OK;
    }
    if (strcasecmp(status, "dead") == 0 || strcasecmp(status, "seki") == 0) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "syntax error");
}

/* ---- files ---- */

static cm_status load(cm_gtp *gtp, const cm_sgf *sgf) {
    int before = 0;
    cm_env_params params = gtp->env->params;
    if (gtp->words > 2) CM_TRY(cm_gtp_int(gtp, 2, &before));
    if (before < 0 || (gtp->words > 2 && before == 0)) return cm_fail(CM_ERR_INPUT, "syntax error");
    if (sgf->has_komi) CM_TRY(cm_env_params_set(&params, "komi", sgf->komi));
    CM_TRY(cm_gtp_sgf_play(&gtp->game, sgf, before));
    if (sgf->has_komi) gtp->env->params.komi = sgf->komi;
    return CM_OK;
}

static cm_status run_loadsgf(cm_gtp *gtp) {
    cm_sgf sgf;
    cm_status status = cm_sgf_read(gtp->word[1], &sgf);
    if (status == CM_OK) {
        status = load(gtp, &sgf);
        cm_sgf_free(&sgf);
    }
    return status == CM_OK ? CM_OK : cm_fail_in(status, "cannot load file");
}

/* Whether a point is an eye of a player: surrounded by own stones, of which not too many corners are the other's. */
static bool is_eye(const cm_go *go, int point, int player) {
    const int n = go->n, row = point / n, column = point % n, own = 1 + player;
    int near[4], others = 0, beyond = 0;
    const int count = cm_go_neighbours(n, point, near);
    for (int i = 0; i < count; i++)
        if (cm_go_colour(go, near[i]) != own) return false;
    for (int i = 0; i < 4; i++) {
        const int r = row + (i < 2 ? -1 : 1), c = column + (i % 2 ? -1 : 1);
        const bool is_there = r >= 0 && r < n && c >= 0 && c < n;
        beyond += !is_there;
        others += is_there && cm_go_colour(go, r * n + c) == 3 - own;
    }
    return others + (beyond > 0) < 2;
}

/* KGS asks for it where players disagree about dead stones: until those of the other one are captured the agent plays
 * on, but never into its own eyes. */
static cm_status run_cleanup(cm_gtp *gtp) {
    uint8_t barred[CM_GO_POINTS + 1] = {0};
    int32_t action = gtp->env->spec.cells;
    int player, enemies = 0;
    CM_TRY(cm_gtp_colour(gtp, 1, &player));
    for (int p = 0; p < gtp->env->spec.cells; p++) {
        enemies += cm_go_colour(gtp->game.go, p) == 2 - player;
        barred[p] = is_eye(gtp->game.go, p, player);
    }
    barred[action] = 1;
    if (enemies > 0) CM_TRY(cm_gtp_choose(gtp, player, barred, &action));
    return cm_gtp_play_chosen(gtp, player, action);
}

const cm_gtp_command cm_gtp_go[] = {
    {"kgs-genmove_cleanup", 1, true, run_cleanup},
    {"loadsgf", 1, true, run_loadsgf},
    {"komi", 1, true, run_komi},
    {"get_komi", 0, true, run_get_komi},
    {"kata-get-rules", 0, true, run_get_rules},
    {"kata-set-rules", 1, true, run_set_rules},
    {"fixed_handicap", 1, true, run_fixed_handicap},
    {"place_free_handicap", 1, true, run_place_free_handicap},
    {"set_free_handicap", 2, true, run_set_free_handicap},
    {"final_status_list", 1, true, run_final_status_list},
    CM_GTP_END,
};
