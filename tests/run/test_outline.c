/* Search trees as pages show them: their text says what the search and the rules say, within its bytes, and no name of
 * a move becomes markup. */
#include "run/outline.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arena/analyse.h"
#include "core/json.h"
#include "env/draw.h"
#include "run/outline_boards.h"
#include "run/outline_page.h"
#include "run/session.h"
#include "support/main.h"

enum { MOST = 10000, SHAPES = 400 };

typedef struct scene {
    cm_config *config;
    cm_session *session;
    cm_agent *agent;
    cm_outline_text text;
    cm_json_doc *doc;
    const cm_json *root;
    int count;
    double *depth, *name, *visits, *q, *prior, *reward; /* [count] */
    int *parent;
    const char *kind, *mover;
} scene;

static void open_with(scene *s, const char *const *settings, int count) {
    cm_configuration configuration;
    memset(s, 0, sizeof *s);
    ck_assert_msg(cm_configuration_load(NULL, settings, count, &configuration, &s->config) == CM_OK, "%s",
                  cm_error_message());
    ck_assert_msg(cm_session_open(&configuration, NULL, &s->session) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_session_agent(s->session, &s->agent), CM_OK);
    const cm_param_table *table = cm_network_parameters(s->session->network);
    float *weights = calloc(table->parameters + table->states + 1, sizeof *weights);
    cm_network_initialise(s->session->network, 5, weights, weights + table->parameters);
    ck_assert_int_eq(cm_agent_set_weights(s->agent, weights, weights + table->parameters), CM_OK);
    free(weights);
}

static void open_agent(scene *s, const char *game, const char *policy, const char *simulations) {
    const char *const settings[] = {
        game, policy, simulations, "threads=1", "hidden_dim=8", "head_hidden=8", "zero_init_heads=false", "discount=1"};
    open_with(s, settings, 8);
}

static void close_scene(scene *s) {
    cm_json_free(s->doc);
    cm_outline_text_destroy(&s->text);
    free(s->depth);
    free(s->parent);
    cm_agent_destroy(s->agent);
    cm_session_close(s->session);
    cm_config_destroy(s->config);
}

static const cm_json *get(const scene *s, const char *key) {
    const cm_json *found = cm_json_get(s->root, key);
    ck_assert_msg(found != NULL, "%s is missing", key);
    return found;
}

static void read_text(scene *s) {
    static const char *const keys[] = {"depth", "name", "visits", "q", "prior", "reward"};
    ck_assert_uint_eq(strlen(s->text.json), s->text.size);
    ck_assert_msg(cm_json_parse(s->text.json, s->text.size, "tree", &s->doc) == CM_OK, "%s", cm_error_message());
    s->root = cm_json_root(s->doc);
    s->count = cm_json_size(get(s, "depth"));
    ck_assert_int_eq(s->count, s->text.nodes);
    const size_t n = (size_t)s->count;
    s->depth = calloc(6 * n, sizeof(double));
    s->parent = calloc(2 * n, sizeof(int));
    double *to[] = {s->depth, s->depth + n, s->depth + 2 * n, s->depth + 3 * n, s->depth + 4 * n, s->depth + 5 * n};
    s->name = to[1], s->visits = to[2], s->q = to[3], s->prior = to[4], s->reward = to[5];
    for (int k = 0; k < 6; k++)
        ck_assert_msg(cm_json_doubles(get(s, keys[k]), keys[k], n, to[k]) == CM_OK, "%s", cm_error_message());
    int *last = s->parent + n;
    for (int i = 0; i < s->count; i++) {
        const int depth = (int)s->depth[i];
        ck_assert(i == 0 ? depth == 0 : depth >= 1 && depth <= s->depth[i - 1] + 1);
        s->parent[i] = i ? last[depth - 1] : -1;
        last[depth] = i;
    }
    s->kind = cm_json_string(get(s, "kind"));
    s->mover = cm_json_string(get(s, "mover"));
    ck_assert(strlen(s->kind) == n && strlen(s->mover) == n);
}

static void search_from(scene *s, const cm_env *env, const void *state, int most, size_t bytes) {
    const cm_outline_search asked = {
        .agent = s->agent, .env = env, .state = state, .moves = "a1", .most_nodes = most, .most_bytes = bytes};
    ck_assert_msg(cm_outline_text_create(&asked, &s->text) == CM_OK, "%s", cm_error_message());
    read_text(s);
}

static void *new_state(const scene *s) {
    void *state = calloc(1, s->session->env.spec.state_size);
    cm_env_reset(&s->session->env, state, 3);
    return state;
}

static void search(scene *s, const char *game, const char *policy, const char *simulations, int most, size_t bytes) {
    open_agent(s, game, policy, simulations);
    void *state = new_state(s);
    search_from(s, &s->session->env, state, most, bytes);
    free(state);
}

static const char *name_of(const scene *s, int i) {
    const cm_json *item = cm_json_first(get(s, "names"));
    for (int k = 0; k < (int)s->name[i]; k++) item = cm_json_next(item);
    return cm_json_string(item);
}

static const char *const games[][2] = {
    {"env_name=tictactoe", "policy=muzero"},    {"env_name=tictactoe", "policy=gumbel_muzero"},
    {"env_name=tictactoe", "policy=alphazero"}, {"env_name=connect4", "policy=muzero"},
    {"env_name=othello", "policy=alphazero"},   {"env_name=CartPole-v1", "policy=muzero"}};
enum { GAMES = sizeof games / sizeof *games };

START_TEST(a_node_has_one_visit_of_its_own_and_those_of_its_children_the_best_first) {
    scene s;
    search(&s, games[_i][0], games[_i][1], "evaluation_simulations=300", MOST, 0);
    ck_assert_int_eq(s.count, 301);
    ck_assert_double_eq(s.visits[0], 301);
    for (int i = 0; i < s.count; i++) {
        double sum = 1.0, before = INFINITY;
        for (int c = i + 1; c < s.count && s.depth[c] > s.depth[i]; c++) {
            if (s.parent[c] != i) continue;
            ck_assert(s.visits[c] <= before);
            sum += before = s.visits[c];
        }
        ck_assert_double_eq(s.visits[i], sum);
    }
    close_scene(&s);
}
END_TEST

/* By another way through the program: the analyser's answer for the same position. */
START_TEST(the_first_moves_have_the_numbers_of_an_analysis) {
    scene s;
    cm_analyser *analyser;
    search(&s, games[_i][0], games[_i][1], "evaluation_simulations=60", MOST, 0);
    const cm_env *env = &s.session->env;
    ck_assert_int_eq(cm_analyser_create(s.agent, env, s.session->pool, 1, &analyser), CM_OK);
    cm_env_reset(env, cm_analyser_state(analyser, 0), 3);
    ck_assert_int_eq(cm_analyser_run(analyser, 1), CM_OK);
    const cm_analysis answer = cm_analyser_get(analyser, 0);
    int found = 0, visited = 0;
    for (int i = 1; i < s.count; i++) {
        if (s.depth[i] != 1) continue;
        const int action = cm_env_action_parse(env, name_of(&s, i));
        ck_assert_double_eq(s.visits[i], answer.visits[action]);
        ck_assert_double_eq_tol(s.q[i], (double)answer.q[action], 1e-3 * fmax(1.0, fabs(s.q[i])));
        ck_assert_double_eq_tol(s.prior[i], (double)answer.prior[action], 1e-3);
        found++;
        if (cm_json_number(get(&s, "chosen"), -1) == i) ck_assert_int_eq(action, answer.action);
    }
    for (int a = 0; a < env->spec.actions; a++) visited += answer.visits[a] > 0;
    ck_assert_int_eq(found, visited);
    ck_assert_double_ge(cm_json_number(get(&s, "chosen"), -1), 1);
    ck_assert_double_eq_tol(cm_json_number(get(&s, "mean"), NAN), (double)answer.value, 1e-3);
    cm_analyser_destroy(analyser);
    close_scene(&s);
}
END_TEST

/* ---- positions ---- */

typedef struct list {
    int n, id[SHAPES];
} list;

static void make_list(const list *from, const char *change, list *to) {
    int at = 0;
    to->n = 0;
    while (*change) {
        char what = *change, *end;
        const int n = (int)strtol(change + 1, &end, 36);
        ck_assert_ptr_ne(end, change + 1);
        change = end;
        if (what == '+') to->id[to->n++] = n;
        for (int k = 0; what == '=' && k < n; k++) to->id[to->n++] = from->id[at + k];
        if (what != '+') at += n;
        ck_assert(strchr("+-=", what) && to->n <= SHAPES && at <= from->n);
    }
    while (at < from->n) to->id[to->n++] = from->id[at++];
}

/* A row of the table against a shape, by what all have: kind, colour, place. */
static void expect_shape(const cm_json *row, const cm_shape *shape) {
    const cm_json *colour = cm_json_next(cm_json_first(row)), *x = cm_json_next(colour), *y = cm_json_next(x);
    ck_assert_double_eq(cm_json_number(cm_json_first(row), -1), shape->kind);
    ck_assert_double_eq(cm_json_number(colour, -1), shape->colour);
    if (shape->kind == CM_SHAPE_POLYGON) return;
    ck_assert_double_eq_tol(cm_json_number(x, -1), shape->x, 0.051);
    ck_assert_double_eq_tol(cm_json_number(y, -1), shape->y, 0.051);
}

typedef struct replay {
    scene *s;
    const cm_json **shape, **change; /* rows of the table, texts of the scenes */
    list *lists;                     /* [count] */
    char **states;                   /* [count], NULL: not known */
    cm_scene drawn;
} replay;

static const cm_json **items_of(const cm_json *array) {
    const cm_json **items = calloc((size_t)cm_json_size(array) + 1, sizeof *items);
    int n = 0;
    for (const cm_json *item = cm_json_first(array); item; item = cm_json_next(item)) items[n++] = item;
    return items;
}

static void expect_drawing(replay *r, int i, const cm_env_moment *moment) {
    const cm_env *env = &r->s->session->env;
    static const list nothing;
    make_list(i ? &r->lists[r->s->parent[i]] : &nothing, cm_json_string(r->change[i]), &r->lists[i]);
    cm_env_draw(env, r->states[i], moment, &r->drawn);
    ck_assert_int_eq(r->lists[i].n, (int)r->drawn.shapes + 1);
    for (int k = 1; k < r->lists[i].n; k++) expect_shape(r->shape[r->lists[i].id[k]], &r->drawn.shape[k - 1]);
}

/* What the rules say of node i; what the text says must be that. */
static void expect_node(replay *r, int i) {
    const cm_env *env = &r->s->session->env;
    const int parent = r->s->parent[i], action = cm_env_action_parse(env, name_of(r->s, i));
    const char *before = r->states[parent];
    cm_env_outcome outcome;
    if (r->s->kind[i] != CM_OUTLINE_BOARD && r->s->kind[i] != CM_OUTLINE_END) /* a learnt model has players alternate */
        ck_assert_int_eq(r->s->mover[i], env->spec.players == 2 ? '0' + '1' - r->s->mover[parent] : '0');
    if (!before || cm_env_ended(before)) {
        ck_assert_int_eq(r->s->kind[i], before ? CM_OUTLINE_AFTER : r->s->kind[parent]);
        return;
    }
    r->states[i] = malloc(env->spec.state_size);
    memcpy(r->states[i], before, env->spec.state_size);
    if (cm_env_step(env, r->states[i], action, &outcome) != CM_OK) {
        ck_assert_int_eq(r->s->kind[i], CM_OUTLINE_ILLEGAL);
        free(r->states[i]);
        r->states[i] = NULL;
        return;
    }
    ck_assert_int_eq(r->s->kind[i], outcome.terminated ? CM_OUTLINE_END : CM_OUTLINE_BOARD);
    ck_assert_int_eq(r->s->mover[i], '0' + cm_env_to_play(env, r->states[i]));
    const cm_env_moment moment = cm_env_moment_of(env, before, action, r->states[i]);
    expect_drawing(r, i, &moment);
}

/* From the root on, whose state it takes over. */
static replay begin_replay(scene *s, void *state) {
    const cm_json *boards = get(s, "boards");
    replay r = {
        .s = s, .shape = items_of(cm_json_get(boards, "shapes")), .change = items_of(cm_json_get(boards, "scenes"))};
    r.lists = calloc((size_t)s->count, sizeof *r.lists);
    r.states = calloc((size_t)s->count, sizeof *r.states);
    r.states[0] = state;
    expect_drawing(&r, 0, &CM_ENV_NO_MOMENT);
    return r;
}

static void end_replay(replay *r) {
    for (int i = 0; i < r->s->count; i++) free(r->states[i]);
    cm_scene_free(&r->drawn);
    free(r->states);
    free(r->lists);
    free(r->shape);
    free(r->change);
    close_scene(r->s);
}

START_TEST(positions_are_those_of_the_rules_and_what_the_rules_do_not_know_says_why) {
    scene s;
    search(&s, games[_i][0], games[_i][1], "evaluation_simulations=250", MOST, 0);
    replay r = begin_replay(&s, new_state(&s));
    for (int i = 1; i < s.count; i++) expect_node(&r, i);
    end_replay(&r);
}
END_TEST

/* ---- chance ---- */

/* Opens a search of 2048, whose codes of chance are the environment's outcomes or learnt, or whose model knows none. */
static replay search_2048(scene *s, const char *policy, const char *codes) {
    const char *const settings[] = {"env_name=2048", policy,         codes,           "evaluation_simulations=300",
                                    "threads=1",     "hidden_dim=8", "head_hidden=8", "zero_init_heads=false"};
    open_with(s, settings, 8);
    void *state = new_state(s);
    search_from(s, &s->session->env, state, MOST, 0);
    return begin_replay(s, state);
}

/* Node i after a move: the afterstate, or nothing where it is illegal. */
static void expect_afterstate(replay *r, int i) {
    const cm_env *env = &r->s->session->env;
    const int parent = r->s->parent[i], action = cm_env_action_parse(env, name_of(r->s, i));
    double reward;
    r->states[i] = malloc(env->spec.state_size);
    memcpy(r->states[i], r->states[parent], env->spec.state_size);
    if (cm_env_afterstate(env, r->states[i], action, &reward) != CM_OK) {
        ck_assert_int_eq(r->s->kind[i], CM_OUTLINE_ILLEGAL);
        free(r->states[i]);
        r->states[i] = NULL;
        return;
    }
    ck_assert_int_eq(r->s->kind[i], CM_OUTLINE_HALF);
    const cm_env_moment moment = cm_env_moment_of(env, r->states[parent], action, r->states[i]);
    expect_drawing(r, i, &moment);
}

/* Node i after an outcome. */
static void expect_outcome(replay *r, int i) {
    const cm_env *env = &r->s->session->env;
    cm_env_outcome out;
    int outcome = -1;
    ck_assert_int_eq(sscanf(name_of(r->s, i), "outcome %d", &outcome), 1);
    r->states[i] = malloc(env->spec.state_size);
    memcpy(r->states[i], r->states[r->s->parent[i]], env->spec.state_size);
    if (cm_env_chance(env, r->states[i], outcome, &out) != CM_OK) {
        ck_assert_int_eq(r->s->kind[i], CM_OUTLINE_ILLEGAL);
        free(r->states[i]);
        r->states[i] = NULL;
        return;
    }
    ck_assert_int_eq(r->s->kind[i], out.terminated ? CM_OUTLINE_END : CM_OUTLINE_BOARD);
    expect_drawing(r, i, &CM_ENV_NO_MOMENT);
}

START_TEST(where_outcomes_are_those_of_the_rules_every_position_is_known) {
    scene s;
    replay r = search_2048(&s, "policy=stochastic_muzero", "chance_codes=0");
    int half = 0, boards = 0;
    for (int i = 1; i < s.count; i++) {
        const int above = s.kind[s.parent[i]];
        half += s.kind[i] == CM_OUTLINE_HALF, boards += s.kind[i] == CM_OUTLINE_BOARD;
        if (above == CM_OUTLINE_BOARD) expect_afterstate(&r, i);
        if (above == CM_OUTLINE_HALF) expect_outcome(&r, i);
        if (above != CM_OUTLINE_BOARD && above != CM_OUTLINE_HALF) ck_assert_int_eq(s.kind[i], above);
    }
    ck_assert_int_ge(half, 4);
    ck_assert_int_ge(boards, 20);
    ck_assert_int_eq(s.text.drawings, 1 + half + boards);
    end_replay(&r);
}
END_TEST

/* Codes that are learnt, and a model that has no node for what follows the move. */
START_TEST(what_a_move_makes_is_known_and_what_chance_has_brought_may_not_be) {
    static const char *const settings[][2] = {{"policy=stochastic_muzero", "chance_codes=32"},
                                              {"policy=muzero", "chance_codes=32"}};
    scene s;
    replay r = search_2048(&s, settings[_i][0], settings[_i][1]);
    int half = 0;
    for (int i = 1; i < s.count; i++) {
        half += s.kind[i] == CM_OUTLINE_HALF;
        if (s.depth[i] == 1) expect_afterstate(&r, i);
        if (s.depth[i] > 1)
            ck_assert_int_eq(s.kind[i], s.kind[s.parent[i]] == CM_OUTLINE_ILLEGAL ? 'i' : CM_OUTLINE_CHANCE);
    }
    ck_assert_int_ge(half, 2);
    ck_assert_int_eq(cm_json_size(get(&s, "chance")) > 0, _i == 0);
    ck_assert_int_eq(strstr(s.text.json, "\"outcome ") != NULL, _i == 0);
    end_replay(&r);
}
END_TEST

START_TEST(draws_have_names_at_the_root_and_numbers_below) {
    scene s;
    const char *const settings[] = {"env_name=Pendulum-v1", "evaluation_simulations=40", "num_sampled_actions=4",
                                    "threads=1", "hidden_dim=8"};
    cm_configuration configuration;
    memset(&s, 0, sizeof s);
    ck_assert_msg(cm_configuration_load(NULL, settings, 5, &configuration, &s.config) == CM_OK, "%s",
                  cm_error_message());
    ck_assert_msg(cm_session_open(&configuration, NULL, &s.session) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_session_agent(s.session, &s.agent), CM_OK);
    void *state = new_state(&s);
    search_from(&s, &s.session->env, state, MOST, 0);
    for (int i = 1; i < s.count; i++) {
        ck_assert_int_eq(s.kind[i], s.depth[i] == 1 ? CM_OUTLINE_BOARD : CM_OUTLINE_DRAWN);
        ck_assert_int_eq(strncmp(name_of(&s, i), "draw ", 5) == 0, s.depth[i] > 1);
    }
    free(state);
    close_scene(&s);
}
END_TEST

/* ---- sizes ---- */

START_TEST(of_too_many_nodes_the_most_visited_are_kept_and_the_others_counted) {
    scene s;
    search(&s, "env_name=tictactoe", "policy=muzero", "evaluation_simulations=400", 50, 0);
    double numbers[2 * MOST], hidden = 0.0;
    const int n = cm_json_size(get(&s, "hidden"));
    ck_assert_int_eq(s.count, 50);
    ck_assert_int_eq(s.text.left_out, 351);
    ck_assert_double_eq(cm_json_number(get(&s, "left_out"), -1), 351);
    ck_assert_int_eq(cm_json_doubles(get(&s, "hidden"), "hidden", (size_t)n, numbers), CM_OK);
    for (int k = 0; k < n; k += 2) {
        double children = 0.0;
        const int i = (int)numbers[k];
        for (int c = 1; c < s.count; c++) children += s.parent[c] == i ? s.visits[c] : 0.0;
        ck_assert_double_le(children + numbers[k + 1], s.visits[i] - 1.0);
        hidden += numbers[k + 1];
    }
    ck_assert_double_gt(hidden, 0.0);
    close_scene(&s);
}
END_TEST

/* A task whose positions share few shapes. */
START_TEST(a_page_of_10000_nodes_has_at_most_a_megabyte_and_drops_drawings_of_few_visits_first) {
    scene s;
    char *page;
    size_t size, frame = cm_outline_page_frame();
    search(&s, "env_name=MountainCar-v0", "policy=muzero", "evaluation_simulations=9999", MOST,
           CM_OUTLINE_PAGE_BYTES - frame);
    ck_assert_int_eq(s.count, MOST);
    ck_assert_int_eq(cm_outline_page_create(&s.text, &page, &size), CM_OK);
    ck_assert_uint_eq(size, frame + s.text.size);
    ck_assert_uint_le(size, CM_OUTLINE_PAGE_BYTES);
    ck_assert_int_ge(s.text.drawings, 1000);
    ck_assert_int_lt(s.text.drawings, MOST);
    for (int i = 1; i < s.count; i++)
        if (s.kind[s.parent[i]] == CM_OUTLINE_NO_SPACE) ck_assert_int_ne(s.kind[i], CM_OUTLINE_BOARD);
    for (int i = 1; i < s.count; i++) ck_assert(s.kind[i] != CM_OUTLINE_NO_SPACE || s.visits[i] < s.visits[0] / 100);
    free(page);
    close_scene(&s);
}
END_TEST

START_TEST(without_space_there_are_numbers_and_no_drawing) {
    scene s;
    search(&s, "env_name=connect4", "policy=muzero", "evaluation_simulations=30", MOST, 100);
    ck_assert_int_eq(s.text.drawings, 0);
    ck_assert_int_eq(s.kind[0], CM_OUTLINE_NO_SPACE);
    ck_assert_int_eq(cm_json_size(cm_json_get(get(&s, "boards"), "shapes")), 0);
    close_scene(&s);
}
END_TEST

/* ---- names ---- */

static void hostile_name(const cm_env_params *params, int action, char *text, size_t size) {
    static const char *const names[] = {"</script><p>", "\"\\", "\xe2\x80\xae.\x1b[2J", "<!--", "\xff'&"};
    (void)params;
    snprintf(text, size, "%s", names[action % 5]);
}

static int count_of(const char *text, const char *part) {
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++) count++;
    return count;
}

START_TEST(hostile_names_of_moves_stay_text) {
    scene s;
    char *page, *plain;
    size_t size;
    open_agent(&s, "env_name=tictactoe", "policy=muzero", "evaluation_simulations=100");
    cm_env_def def = *s.session->env.def;
    cm_env env = s.session->env;
    def.action_name = hostile_name;
    env.def = &def;
    void *state = new_state(&s);
    search_from(&s, &env, state, MOST, 0);
    ck_assert_ptr_null(strchr(s.text.json, '<'));
    for (const char *c = s.text.json; *c; c++) ck_assert_int_ge((unsigned char)*c, ' ');
    ck_assert_ptr_null(strstr(s.text.json, "\xe2\x80\xae"));
    ck_assert_ptr_nonnull(strstr(s.text.json, "\"\\u003c/script>\\u003cp>\""));
    ck_assert_int_eq(cm_outline_page_create(&s.text, &page, &size), CM_OK);
    const cm_outline_text empty = {.json = (char[]){"{}"}, .size = 2};
    ck_assert_int_eq(cm_outline_page_create(&empty, &plain, &size), CM_OK);
    ck_assert_int_eq(count_of(page, "<"), count_of(plain, "<"));
    ck_assert_ptr_nonnull(strstr(page, "default-src 'none'"));
    ck_assert_ptr_null(strstr(page, "unsafe"));
    free(page);
    free(plain);
    free(state);
    close_scene(&s);
}
END_TEST

START_TEST(a_finished_game_is_refused) {
    scene s;
    open_agent(&s, "env_name=tictactoe", "policy=muzero", "evaluation_simulations=4");
    char *state = new_state(&s);
    cm_env_outcome outcome;
    for (int a = 0; !cm_env_ended(state); a += 2)
        ck_assert_int_eq(cm_env_step(&s.session->env, state, a % 9, &outcome), CM_OK);
    const cm_outline_search asked = {.agent = s.agent, .env = &s.session->env, .state = state, .most_nodes = MOST};
    ck_assert_int_eq(cm_outline_text_create(&asked, &s.text), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "the game is over"));
    ck_assert_ptr_null(s.text.json);
    free(state);
    close_scene(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("outline");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, a_node_has_one_visit_of_its_own_and_those_of_its_children_the_best_first, 0, GAMES);
    tcase_add_loop_test(tests, the_first_moves_have_the_numbers_of_an_analysis, 0, GAMES);
    tcase_add_loop_test(tests, positions_are_those_of_the_rules_and_what_the_rules_do_not_know_says_why, 0, GAMES);
    tcase_add_test(tests, where_outcomes_are_those_of_the_rules_every_position_is_known);
    tcase_add_loop_test(tests, what_a_move_makes_is_known_and_what_chance_has_brought_may_not_be, 0, 2);
    tcase_add_test(tests, draws_have_names_at_the_root_and_numbers_below);
    tcase_add_test(tests, of_too_many_nodes_the_most_visited_are_kept_and_the_others_counted);
    tcase_add_test(tests, a_page_of_10000_nodes_has_at_most_a_megabyte_and_drops_drawings_of_few_visits_first);
    tcase_add_test(tests, without_space_there_are_numbers_and_no_drawing);
    tcase_add_test(tests, hostile_names_of_moves_stay_text);
    tcase_add_test(tests, a_finished_game_is_refused);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
