#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "core/file.h"
#include "core/log.h"
#include "support/folder.h"
#include "support/main.h"

/* Two modules that share the section "Shared". */
typedef struct search_options {
    int simulations;
    double weight;
    int policy;
    double bound;
    bool deep;
    int64_t late_steps;
} search_options;

typedef struct world_options {
    char name[CM_OPTION_TEXT];
    cm_option_shape shape;
    int64_t steps, episodes;
    int worlds;
} world_options;

typedef struct all_options {
    world_options world; /* not the order of the tables */
    search_options search;
} all_options;

static const char *unless_gumbel(const void *options) {
    return ((const search_options *)options)->policy == 1 ? NULL : "policy is puct";
}

#define OPTIONS search_options
static const cm_option search_rows[] = {
    CM_OPTION(INT, simulations, "Search", "8", 1, 65536, "Simulations per move."),
    CM_OPTION(DOUBLE, weight, "Search", "1.25", 0, 10, "Weight of | the prior.", .idle = unless_gumbel),
    CM_OPTION(ENUM, policy, "Search", "puct", 0, 0, "How it selects.", .choices = "puct|gumbel"),
    CM_OPTION(DOUBLE, bound, "Shared", "null", -5, 5, "A bound.", .flags = CM_OPTION_NULL | CM_OPTION_RESUME),
    CM_OPTION(BOOL, deep, "Search", "false", 0, 0, "Deep or not."),
    CM_OPTION(INT64, late_steps, "Shared", "0", 0, 9007199254740992.0, "Steps.", .group = "limit"),
};
#undef OPTIONS
#define OPTIONS world_options
static const cm_option world_rows[] = {
    CM_OPTION(STRING, name, "The world", "catch", 1, 0, "What is played."),
    CM_OPTION(SHAPE, shape, "The world", "[]", 1, 1000, "Its shape."),
    CM_OPTION(INT64, steps, "Shared", "500", 0, 9007199254740992.0, "A limit.", .flags = CM_OPTION_RESUME,
              .group = "limit"),
    CM_OPTION(INT64, episodes, "Shared", "0", 0, 9007199254740992.0, "A limit.", .group = "limit"),
    CM_OPTION(INT, worlds, "The world", "3", 1, 9, "How many.", .alias = "planets|n_simulations"),
};
#undef OPTIONS
#define COUNT(rows) ((int)(sizeof(rows) / sizeof *(rows)))

static const cm_option_table tables[] = {
    {search_rows, COUNT(search_rows), offsetof(all_options, search)},
    {world_rows, COUNT(world_rows), offsetof(all_options, world)},
};

static all_options options;
static cm_config *config;
static char warnings[4096];

static bool collect(void *context, cm_log_level level, const char *line) {
    (void)context, (void)level;
    strncat(warnings, line, sizeof warnings - strlen(warnings) - 2);
    strcat(warnings, "\n");
    return true;
}

static void setup(void) {
    warnings[0] = '\0';
    cm_log_set_hook(collect, NULL);
    ck_assert_msg(cm_config_create(tables, 2, &options, &config) == CM_OK, "%s", cm_error_message());
}

static void teardown(void) {
    cm_config_destroy(config);
    cm_log_set_hook(NULL, NULL);
}

static cm_status parse(const char *text) { return cm_config_parse(config, text, strlen(text), "f.json"); }

static void assert_refused(cm_status status, const char *message) {
    ck_assert_int_eq(status, CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), message);
}

static void assert_written(const char *text) {
    cm_json_writer *writer;
    ck_assert_int_eq(cm_json_writer_create(2, &writer), CM_OK);
    ck_assert_int_eq(cm_config_write(config, writer), CM_OK);
    ck_assert_str_eq(cm_json_writer_text(writer, NULL), text);
    cm_json_writer_destroy(writer);
}

START_TEST(defaults_fill_the_struct_and_print_in_the_order_of_the_tables) {
    ck_assert_int_eq(options.search.simulations, 8);
    ck_assert_double_eq(options.search.weight, 1.25);
    ck_assert(isnan(options.search.bound));
    ck_assert_str_eq(options.world.name, "catch");
    ck_assert_int_eq(options.world.steps, 500);
    assert_written("{\n  \"Search\": {\n    \"simulations\": 8,\n    \"weight\": 1.25,\n    \"policy\": \"puct\",\n    "
                   "\"deep\": false\n  },\n"
                   "  \"Shared\": {\n    \"bound\": null,\n    \"late_steps\": 0,\n    \"steps\": 500,\n    "
                   "\"episodes\": 0\n  },\n"
                   "  \"The world\": {\n    \"name\": \"catch\",\n    \"shape\": [],\n    \"worlds\": 3\n  }\n}");
    ck_assert_str_eq(cm_config_origin_of(config, "worlds"), "default");
}
END_TEST

START_TEST(file_sets_every_type_and_remembers_its_lines) {
    ck_assert_int_eq(
        parse("{\"Search\": {\n\"simulations\": 50.0, \"weight\": 2,\n\"policy\": \"gumbel\", \"deep\": true},\n"
              "\"Shared\": {\"bound\": -0.5, \"steps\": 9007199254740992},\n"
              "\"The world\": {\"name\": \"go \\\"9\\\"\", \"shape\": [6, 7,\n 3]}}"),
        CM_OK);
    ck_assert_int_eq(options.search.simulations, 50);
    ck_assert_int_eq(options.search.policy, 1);
    ck_assert(options.search.deep);
    ck_assert_double_eq(options.search.bound, -0.5);
    ck_assert_int_eq(options.world.steps, 9007199254740992);
    ck_assert_str_eq(options.world.name, "go \"9\"");
    ck_assert_int_eq(options.world.shape.rank, 3);
    ck_assert_int_eq(options.world.shape.extent[2], 3);
    ck_assert_str_eq(cm_config_origin_of(config, "Search.weight"), "f.json:2");
    ck_assert_str_eq(cm_config_origin_of(config, "shape"), "f.json:5");
    ck_assert_int_eq(cm_config_source_of(config, "policy"), CM_FROM_FILE);
    ck_assert_str_eq(warnings, "");
}
END_TEST

START_TEST(what_was_written_reads_back_to_the_same_bytes) {
    ck_assert_int_eq(cm_config_set(config, "name=a\"\\\xc3\xa9 b"), CM_OK);
    ck_assert_int_eq(cm_config_set(config, "shape=4"), CM_OK);
    ck_assert_int_eq(cm_config_set(config, "weight=1e-06"), CM_OK);
    char path[CM_TEST_PATH], *first, *second;
    size_t a, b;
    cm_test_file_make(path);
    ck_assert_int_eq(cm_config_save(config, path), CM_OK);
    ck_assert_int_eq(cm_file_read(path, 1 << 20, &first, &a), CM_OK);
    ck_assert_ptr_nonnull(strstr(first, "\"weight\": 1e-06,"));
    cm_config_destroy(config);
    ck_assert_int_eq(cm_config_create(tables, 2, &options, &config), CM_OK);
    ck_assert_int_eq(cm_config_read(config, path), CM_OK);
    ck_assert_int_eq(cm_config_save(config, path), CM_OK);
    ck_assert_int_eq(cm_file_read(path, 1 << 20, &second, &b), CM_OK);
    ck_assert_str_eq(first, second);
    free(first);
    free(second);
}
END_TEST

/* Editors find the schema of a file by it; it is no value. */
START_TEST(schema_of_a_file_is_kept_where_one_is_written) {
    char path[CM_TEST_PATH], *text;
    size_t size;
    ck_assert_int_eq(parse("{\"$schema\": \"./s.json\", \"Search\": {\"simulations\": 1e2}}"), CM_OK);
    ck_assert_int_eq(options.search.simulations, 100);
    ck_assert_str_eq(warnings, "");
    cm_test_file_make(path);
    ck_assert_int_eq(cm_config_save(config, path), CM_OK);
    ck_assert_int_eq(cm_file_read(path, 1 << 20, &text, &size), CM_OK);
    ck_assert_int_eq(strncmp(text, "{\n  \"$schema\": \"./s.json\",\n  \"Search\": {", 40), 0);
    free(text);
    cm_json_writer *writer;
    ck_assert_int_eq(cm_json_writer_create(2, &writer), CM_OK);
    ck_assert_int_eq(cm_config_write(config, writer), CM_OK);
    ck_assert_ptr_null(strstr(cm_json_writer_text(writer, NULL), "$schema"));
    cm_json_writer_destroy(writer);
    assert_refused(parse("{\n\"$schema\": 1}"), "f.json:2: $schema: must be a text of at most 255 bytes, got 1");
    assert_refused(parse("{\"Search\": {\"$schema\": \"s.json\"}}"),
                   "f.json:1: unknown key \"$schema\"; cumind config --manual lists all");
}
END_TEST

/* Of a few rows the whole of it: what scripts/check_schema compares with what is read. */
START_TEST(schema_has_types_ranges_words_defaults_and_no_other_key) {
    static const char *const parts[] = {
        "{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\"",
        "\"simulations\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 65536, \"description\": \"Simulations "
        "per "
        "move.\", \"default\": 8}",
        "\"weight\": {\"type\": \"number\", \"minimum\": 0.0, \"maximum\": 10.0, ",
        "\"policy\": {\"enum\": [\"puct\", \"gumbel\"], \"description\": \"How it selects.\", \"default\": \"puct\"}",
        "\"bound\": {\"type\": [\"number\", \"null\"], \"minimum\": -5.0, \"maximum\": 5.0, \"description\": \"A "
        "bound.\", "
        "\"default\": null}",
        "\"deep\": {\"type\": \"boolean\", ",
        "\"name\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 255, ",
        "\"shape\": {\"type\": \"array\", \"maxItems\": 4, \"items\": {\"type\": \"integer\", \"minimum\": 1, "
        "\"maximum\": "
        "1000}, ",
        "\"Search\": {\"$ref\": \"#/$defs/a section\", \"properties\": {\"simulations\": {",
        "\"worlds\": {\"$ref\": \"#/$defs/worlds\", \"doNotSuggest\": true}}, \"additionalProperties\": false}",
        "\"worlds\": {\"$ref\": \"#/$defs/worlds\", \"doNotSuggest\": true, \"deprecationMessage\": \"worlds belongs "
        "in \\\"The "
        "world\\\".\"}",
    };
    cm_json_writer *writer;
    ck_assert_int_eq(cm_json_writer_create(0, &writer), CM_OK);
    ck_assert_int_eq(cm_config_schema(config, writer), CM_OK);
    const char *text = cm_json_writer_text(writer, NULL);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        ck_assert_msg(strstr(text, parts[i]) != NULL, "%s\nin %s", parts[i], text);
    cm_json_writer_destroy(writer);
}
END_TEST

START_TEST(wrong_values_are_refused_with_place_key_and_range) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"Search\": {\n\n\"simulations\": 0}}",
         "f.json:3: Search.simulations: must be an integer in 1..65536, got 0"},
        {"{\"Search\": {\"simulations\": 2.5}}",
         "f.json:1: Search.simulations: must be an integer in 1..65536, got 2.5"},
        {"{\"Search\": {\"simulations\": \"8\"}}",
         "f.json:1: Search.simulations: must be an integer in 1..65536, got \"8\""},
        {"{\"Search\": {\"simulations\": true}}",
         "f.json:1: Search.simulations: must be an integer in 1..65536, got true"},
        {"{\"Search\": {\"simulations\": null}}",
         "f.json:1: Search.simulations: must be an integer in 1..65536, got null"},
        {"{\"Search\": {\"simulations\": {}}}",
         "f.json:1: Search.simulations: must be an integer in 1..65536, got an object"},
        {"{\"Search\": {\"weight\": 10.5}}", "f.json:1: Search.weight: must be a number in 0..10, got 10.5"},
        {"{\"Search\": {\"weight\": null}}", "f.json:1: Search.weight: must be a number in 0..10, got null"},
        {"{\"Search\": {\"policy\": \"ucb\"}}",
         "f.json:1: Search.policy: must be one of \"puct\", \"gumbel\", got \"ucb\""},
        {"{\"Search\": {\"policy\": 1}}", "f.json:1: Search.policy: must be one of \"puct\", \"gumbel\", got 1"},
        {"{\"Search\": {\"deep\": 1}}", "f.json:1: Search.deep: must be true or false, got 1"},
        {"{\"Shared\": {\"bound\": 6}}", "f.json:1: Shared.bound: must be a number in -5..5, or null, got 6"},
        {"{\"Shared\": {\"steps\": -1}}", "f.json:1: Shared.steps: must be an integer of at least 0, got -1"},
        {"{\"Shared\": {\"steps\": 1e300}}", "f.json:1: Shared.steps: must be an integer of at least 0, got 1e+300"},
        {"{\"The world\": {\"shape\": 4}}",
         "f.json:1: The world.shape: must be a list of at most 4 integers in 1..1000, got 4"},
        {"{\"The world\": {\"shape\": [4, 0]}}",
         "f.json:1: The world.shape: must be a list of at most 4 integers in 1..1000, got 0"},
        {"{\"The world\": {\"shape\": [1, 1, 1, 1, 1]}}",
         "f.json:1: The world.shape: must be a list of at most 4 integers in 1..1000, got more"},
        {"{\"The world\": {\"name\": \"\"}}",
         "f.json:1: The world.name: must be a text of at most 255 bytes, got an empty one"},
        {"{\"The world\": {\"name\": \"a\\nb\"}}", "f.json:1: The world.name: must be a text of at most 255 bytes, got "
                                                   "bytes that are no UTF-8, or control characters"},
        {"{\"Search\": {\n\"simulation\": 3}}",
         "f.json:2: unknown key \"simulation\"; did you mean Search.simulations?"},
        {"{\"wieght\": 3}", "f.json:1: unknown key \"wieght\"; did you mean Search.weight?"},
        {"{\"zzzz\": 3}", "f.json:1: unknown key \"zzzz\"; cumind config --manual lists all"},
        {"{\"weight\": {}}", "f.json:1: Search.weight: must be a number in 0..10, got an object"},
        {"{\n\"Search\": 3}", "f.json:2: section \"Search\" must be an object, {...}"},
        {"[1]", "f.json:1: a configuration is an object of sections, {\"MCTS\": {...}, ...}"},
        {"{\"Search\": {\"deep\": true, \"deep\": true}}", "f.json:1: the key \"deep\" stands twice in one object"},
        {"{", "f.json:1: expected a key in double quotes, found the end of the text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) assert_refused(parse(cases[i].text), cases[i].message);
    char text[400] = "{\"name\": \"";
    memset(text + 10, 'x', 256);
    strcpy(text + 266, "\"}");
    assert_refused(parse(text), "f.json:1: The world.name: must be a text of at most 255 bytes, got a longer one");
}
END_TEST

START_TEST(leniencies_of_the_original_are_kept_with_a_warning_each) {
    ck_assert_int_eq(parse("{\"simulations\": 2,\n\"Search\": {\"steps\": 7},\n\"Whatever\": {\"worlds\": "
                           "4},\n\"Shared\": {\"steps\": 8},\n\"Nothing\": {}}"),
                     CM_OK);
    ck_assert_int_eq(options.search.simulations, 2);
    ck_assert_int_eq(options.world.steps, 8);
    ck_assert_int_eq(options.world.worlds, 4);
    ck_assert_str_eq(warnings, "f.json:1: simulations stands outside of any section; it belongs in \"Search\"\n"
                               "f.json:2: steps stands in section \"Search\"; it belongs in \"Shared\"\n"
                               "f.json:3: worlds stands in section \"Whatever\"; it belongs in \"The world\"\n"
                               "f.json:4: steps stands in line 2, too; this value counts\n"
                               "f.json:5: unknown section \"Nothing\"\n");
}
END_TEST

/* Each kind of warning, for any number of places: the first ones in full, and how many more there are. */
START_TEST(of_many_warnings_the_first_are_shown_and_the_rest_counted) {
    enum { MANY = 1000, SHOWN = 8 };
    static const char *const inner[] = {"", "\"steps\": 1"};
    static const char *const begins[] = {"f.json:1: unknown section \"s0\"\n",
                                         "f.json:1: steps stands in section \"s0\"; "};
    static const int each[] = {MANY, 2 * MANY - 1}; /* a key is in another place, and there twice but for the first */
    for (size_t kind = 0; kind < 2; kind++) {
        char text[MANY * 32], more[128];
        size_t used = (size_t)snprintf(text, sizeof text, "{"), lines = 0;
        for (int i = 0; i < MANY; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s\"s%d\": {%s}", i ? "," : "", i, inner[kind]);
        snprintf(text + used, sizeof text - used, "}");
        warnings[0] = '\0';
        ck_assert_int_eq(parse(text), CM_OK);
        for (const char *c = warnings; *c; c++) lines += *c == '\n';
        ck_assert_uint_eq(lines, SHOWN + 1);
        ck_assert_msg(strncmp(warnings, begins[kind], strlen(begins[kind])) == 0, "%s", warnings);
        snprintf(more, sizeof more,
                 "f.json: %d more sections and keys that are unknown, in another place or there twice\n",
                 each[kind] - SHOWN);
        ck_assert_str_eq(warnings + strlen(warnings) - strlen(more), more);
    }
}
END_TEST

START_TEST(flag_beats_set_beats_file_beats_default_in_any_order) {
    ck_assert_int_eq(cm_config_assign(config, "simulations", "4", "--simulations"), CM_OK);
    ck_assert_int_eq(cm_config_set(config, "Search.simulations=3"), CM_OK);
    ck_assert_int_eq(cm_config_set(config, "search.weight=3"), CM_OK);
    ck_assert_int_eq(cm_config_set(config, "The.worlds=6"), CM_OK);
    ck_assert_int_eq(parse("{\"Search\": {\"simulations\": 2, \"weight\": 2, \"deep\": true}}"), CM_OK);
    ck_assert_int_eq(options.search.simulations, 4);
    ck_assert_double_eq(options.search.weight, 3.0);
    ck_assert(options.search.deep);
    ck_assert_int_eq(options.world.worlds, 6);
    ck_assert_str_eq(cm_config_origin_of(config, "simulations"), "--simulations");
    ck_assert_str_eq(cm_config_origin_of(config, "weight"), "--set");
    ck_assert_int_eq(cm_config_set(config, "weight=4"), CM_OK); /* of equals the later one */
    ck_assert_double_eq(options.search.weight, 4.0);
    ck_assert_int_eq(cm_config_set(config, "weight=.5"), CM_OK); /* as people write it */
    ck_assert_double_eq(options.search.weight, 0.5);
}
END_TEST

START_TEST(set_takes_bare_words_and_lists_and_names_what_it_refuses) {
    ck_assert_int_eq(cm_config_set(config, "policy=gumbel"), CM_OK);
    ck_assert_int_eq(cm_config_set(config, "shape=6,7,3"), CM_OK);
    ck_assert_int_eq(options.world.shape.extent[1], 7);
    ck_assert_int_eq(cm_config_set(config, "shape=[]"), CM_OK);
    ck_assert_int_eq(options.world.shape.rank, 0);
    ck_assert_int_eq(cm_config_set(config, "name=a=b"), CM_OK);
    ck_assert_str_eq(options.world.name, "a=b");
    ck_assert_int_eq(cm_config_set(config, "bound=null"), CM_OK);
    ck_assert_int_eq(cm_config_set(config, "simulations=1.5k"), CM_OK);
    ck_assert_int_eq(options.search.simulations, 1500);
    ck_assert_int_eq(cm_config_set(config, "simulations=2e3"), CM_OK);
    ck_assert_int_eq(options.search.simulations, 2000);
    assert_refused(cm_config_set(config, "simulations=66k"),
                   "--set simulations=66k: must be an integer in 1..65536, got 66k");
    assert_refused(cm_config_set(config, "simulations"),
                   "--set simulations: must be Section.key=value, for example --set MCTS.num_simulations=50");
    assert_refused(cm_config_set(config, "Search.simulations=x"),
                   "--set Search.simulations=x: must be an integer in 1..65536, got \"x\"");
    assert_refused(cm_config_set(config, "simulations="),
                   "--set simulations=: must be an integer in 1..65536, got \"\"");
    assert_refused(
        cm_config_set(config, "Shared.simulations=3"),
        "--set Shared.simulations=3: section \"Shared\" has no key \"simulations\"; did you mean Search.simulations?");
    assert_refused(
        cm_config_set(config, "Sea.simulations=3"),
        "--set Sea.simulations=3: section \"Sea\" has no key \"simulations\"; did you mean Search.simulations?");
    ck_assert_int_eq(cm_config_set(config, "SEARCH.simulations=4"), CM_OK); /* capitals or not */
    assert_refused(
        cm_config_set(config, ".simulations=3"),
        "--set .simulations=3: \".simulations\" has a dot but no section; write Section.key, or the key alone");
    assert_refused(cm_config_set(config, "polcy=puct"),
                   "--set polcy=puct: unknown key \"polcy\"; did you mean Search.policy?");
    assert_refused(cm_config_set(config, "planets=3"),
                   "--set planets=3: unknown key \"planets\"; did you mean The world.worlds?");
    assert_refused(cm_config_set(config, "n_simulations=3"), /* though another key is nearer */
                   "--set n_simulations=3: unknown key \"n_simulations\"; did you mean The world.worlds?");
    assert_refused(
        cm_config_set(config, "name=\xff"),
        "--set name=\\xff: must be a text of at most 255 bytes, got bytes that are no UTF-8, or control characters");
    assert_refused(cm_config_assign(config, "Search.simulations", "1 2", "--simulations"),
                   "--simulations 1 2: must be an integer in 1..65536, got \"1 2\"");
}
END_TEST

START_TEST(alternative_given_sets_those_of_lower_precedence_to_0) {
    cm_config_resolve_groups(config);
    ck_assert_int_eq(options.world.steps, 500); /* nothing given */
    ck_assert_int_eq(parse("{\"Shared\": {\"episodes\": 20}}"), CM_OK);
    cm_config_resolve_groups(config);
    ck_assert_int_eq(options.world.steps, 0);
    ck_assert_int_eq(options.world.episodes, 20);
    ck_assert_str_eq(cm_config_origin_of(config, "steps"), "gives way to episodes of f.json:1");
    ck_assert_int_eq(cm_config_set(config, "late_steps=0"), CM_OK); /* 0 asks for nothing */
    ck_assert_int_eq(parse("{\"Shared\": {\"steps\": 30}}"), CM_OK);
    cm_config_resolve_groups(config);
    ck_assert_int_eq(options.world.steps, 30); /* equals stay together */
    ck_assert_int_eq(options.world.episodes, 20);
    ck_assert_int_eq(cm_config_set(config, "late_steps=5"), CM_OK);
    cm_config_resolve_groups(config);
    ck_assert_int_eq(options.world.steps + options.world.episodes, 0);
    ck_assert_int_eq(options.search.late_steps, 5);
}
END_TEST

START_TEST(key_without_effect_is_a_warning_unless_it_has_its_default) {
    ck_assert_int_eq(parse("{\"Search\": {\"weight\": 1.25}}"), CM_OK);
    cm_config_warn_idle(config);
    ck_assert_str_eq(warnings, "");
    ck_assert_int_eq(parse("{\"Search\": {\"weight\": 3}}"), CM_OK);
    cm_config_warn_idle(config);
    ck_assert_str_eq(warnings, "f.json:1: Search.weight has no effect: policy is puct\n");
    warnings[0] = '\0';
    ck_assert_int_eq(cm_config_set(config, "policy=gumbel"), CM_OK);
    cm_config_warn_idle(config);
    ck_assert_str_eq(warnings, "");
}
END_TEST

START_TEST(known_values_are_not_warned_of_again_and_new_ones_are) {
    ck_assert_int_eq(parse("{\"Search\": {\"weight\": 3}}"), CM_OK);
    cm_config_mark_known(config);
    cm_config_warn_idle(config);
    cm_config_warn(config, "weight", "is %d", 3);
    ck_assert_str_eq(warnings, "");
    ck_assert_int_eq(cm_config_set(config, "weight=4"), CM_OK);
    cm_config_warn_idle(config);
    cm_config_warn(config, "weight", "is %d", 4);
    ck_assert_str_eq(warnings, "--set: Search.weight has no effect: policy is puct\n--set: Search.weight: is 4\n");
}
END_TEST

START_TEST(explain_tells_meaning_range_default_value_and_origin) {
    char *text;
    ck_assert_int_eq(cm_config_set(config, "weight=3"), CM_OK);
    ck_assert_int_eq(cm_config_explain(config, "Search.weight", &text), CM_OK);
    ck_assert_str_eq(text,
                     "Search.weight\n  Weight of | the prior.\n  range    a number in 0..10\n  default  1.25\n"
                     "  value    3.0 (--set)\n  effect   none now: policy is puct\n  resume   is fixed for a run\n");
    free(text);
    ck_assert_int_eq(cm_config_explain(config, "bound", &text), CM_OK);
    ck_assert_ptr_nonnull(strstr(text, "  value    null (default)\n  resume   may change when a run is resumed\n"));
    free(text);
    ck_assert_int_eq(cm_config_explain(config, "steps", &text), CM_OK);
    ck_assert_ptr_nonnull(strstr(text, "  one of   late_steps, steps, episodes\n"));
    free(text);
    ck_assert_int_eq(cm_config_explain(config, "shared", &text), CM_OK);
    ck_assert_int_eq(strncmp(text, "Shared\n  ", 9), 0);
    ck_assert_ptr_nonnull(strstr(text, "\n  steps "));
    ck_assert_ptr_null(strstr(text, "\n  weight "));
    free(text);
    assert_refused(cm_config_explain(config, "bund", &text), "unknown key \"bund\"; did you mean Shared.bound?");
    ck_assert_ptr_null(text);
}
END_TEST

START_TEST(manual_has_every_key_once_and_does_not_depend_on_values) {
    char *before, *after;
    ck_assert_int_eq(cm_config_manual(config, &before), CM_OK);
    ck_assert_int_eq(cm_config_set(config, "simulations=99"), CM_OK);
    ck_assert_int_eq(cm_config_manual(config, &after), CM_OK);
    ck_assert_str_eq(before, after);
    ck_assert_ptr_nonnull(strstr(before, "\n## Search\n"));
    ck_assert_ptr_nonnull(strstr(before, "| `weight` | a number in 0..10 | `1.25` | Weight of \\| the prior. |\n"));
    ck_assert_ptr_nonnull(strstr(before, "| `bound` * | a number in -5..5, or null | `null` | A bound. |\n"));
    ck_assert_ptr_nonnull(strstr(before, "\n* `late_steps`, `steps`, `episodes`\n"));
    for (int i = 0; cm_config_row(config, i); i++) {
        char cell[64];
        snprintf(cell, sizeof cell, "\n| `%s`", cm_config_row(config, i)->key);
        const char *at = strstr(before, cell);
        ck_assert_ptr_nonnull(at);
        ck_assert_ptr_null(strstr(at + 1, cell));
    }
    free(before);
    free(after);
}
END_TEST

START_TEST(compare_lists_what_differs_and_whether_it_may) {
    static all_options others;
    cm_config *other;
    cm_config_difference *difference;
    int count;
    ck_assert_int_eq(cm_config_create(tables, 2, &others, &other), CM_OK);
    ck_assert_int_eq(cm_config_compare(config, other, &difference, &count), CM_OK);
    ck_assert_int_eq(count, 0);
    free(difference);
    ck_assert_int_eq(cm_config_set(other, "steps=600"), CM_OK);
    ck_assert_int_eq(cm_config_set(other, "name=go"), CM_OK);
    ck_assert_int_eq(cm_config_compare(config, other, &difference, &count), CM_OK);
    ck_assert_int_eq(count, 2);
    ck_assert_str_eq(difference[0].key, "steps");
    ck_assert_str_eq(difference[0].before, "500");
    ck_assert_str_eq(difference[0].after, "600");
    ck_assert(difference[0].may_change);
    ck_assert_str_eq(difference[1].before, "\"catch\"");
    ck_assert_str_eq(difference[1].after, "\"go\"");
    ck_assert_str_eq(difference[1].origin, "--set");
    ck_assert(!difference[1].may_change);
    free(difference);
    cm_config_destroy(other);
}
END_TEST

START_TEST(fail_names_origin_section_and_key) {
    ck_assert_int_eq(cm_config_set(config, "weight=3"), CM_OK);
    assert_refused(cm_config_fail(config, "weight", "is above %d", 2), "--set: Search.weight: is above 2");
}
END_TEST

START_TEST(table_that_contradicts_itself_is_a_state_error) {
    cm_config *broken;
    cm_option rows[2] = {search_rows[0], search_rows[0]};
    const cm_option_table twice = {rows, 2, 0};
    ck_assert_int_eq(cm_config_create(&twice, 1, &options, &broken), CM_ERR_STATE);
    ck_assert_str_eq(cm_error_message(), "Search.simulations: the key has two rows");
    const cm_option_table once = {rows, 1, 0};
    rows[0].standard = "0";
    ck_assert_int_eq(cm_config_create(&once, 1, &options, &broken), CM_ERR_STATE);
    ck_assert_str_eq(cm_error_message(), "Search.simulations: the default: must be an integer in 1..65536, got 0");
    rows[0].standard = "8", rows[0].type = CM_OPTION_INT64;
    ck_assert_int_eq(cm_config_create(&once, 1, &options, &broken), CM_ERR_STATE);
    ck_assert_ptr_null(broken);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("config");
    TCase *c = tcase_create("config");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, defaults_fill_the_struct_and_print_in_the_order_of_the_tables);
    tcase_add_test(c, file_sets_every_type_and_remembers_its_lines);
    tcase_add_test(c, what_was_written_reads_back_to_the_same_bytes);
    tcase_add_test(c, wrong_values_are_refused_with_place_key_and_range);
    tcase_add_test(c, schema_of_a_file_is_kept_where_one_is_written);
    tcase_add_test(c, schema_has_types_ranges_words_defaults_and_no_other_key);
    tcase_add_test(c, leniencies_of_the_original_are_kept_with_a_warning_each);
    tcase_add_test(c, of_many_warnings_the_first_are_shown_and_the_rest_counted);
    tcase_add_test(c, flag_beats_set_beats_file_beats_default_in_any_order);
    tcase_add_test(c, set_takes_bare_words_and_lists_and_names_what_it_refuses);
    tcase_add_test(c, alternative_given_sets_those_of_lower_precedence_to_0);
    tcase_add_test(c, key_without_effect_is_a_warning_unless_it_has_its_default);
    tcase_add_test(c, known_values_are_not_warned_of_again_and_new_ones_are);
    tcase_add_test(c, explain_tells_meaning_range_default_value_and_origin);
    tcase_add_test(c, manual_has_every_key_once_and_does_not_depend_on_values);
    tcase_add_test(c, compare_lists_what_differs_and_whether_it_may);
    tcase_add_test(c, fail_names_origin_section_and_key);
    tcase_add_test(c, table_that_contradicts_itself_is_a_state_error);
    suite_add_tcase(suite, c);
    return cm_test_main(suite);
}
