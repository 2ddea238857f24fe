#include "serve/routes.h"

static void put_count(cm_json_writer *json, const char *key, int64_t count) {
    if (count < 0) {
        cm_json_put_null(json, key);
    } else {
        cm_json_put_int(json, key, count);
    }
}

void cm_put_run(cm_json_writer *json, const char *key, const cm_site *site, int number) {
    const cm_site_run *run = &site->runs[number];
    const cm_run_summary *s = &run->summary;
    cm_json_begin_object(json, key);
    cm_json_put_int(json, "run", number);
    cm_json_put_string(json, "path", run->path);
    cm_json_put_string(json, "environment", s->environment);
    cm_json_put_string(json, "state", s->state);
    cm_json_put_string(json, "begun", s->begun);
    put_count(json, "seed", s->seed);
    put_count(json, "updates", s->updates);
    put_count(json, "env_steps", s->env_steps);
    put_count(json, "most_steps", s->most_steps);
    put_count(json, "most_updates", s->most_updates);
    put_count(json, "checkpoint", s->checkpoint);
    cm_json_put_double(json, "mean_return", s->last_return);
    cm_json_put_double(json, "final_return", s->final);
    cm_json_put_double(json, "goal", s->goal);
    cm_json_put_double(json, "seconds", s->seconds);
    cm_json_put_double(json, "rate", cm_site_rate(run));
    cm_json_put_double(json, "left", cm_site_left(run));
    put_count(json, "rows", run->follow ? run->follow->count : -1);
    put_count(json, "generation", run->follow ? (int64_t)run->follow->generation : -1);
    put_count(json, "log", run->files.log_bytes);
    cm_json_end_object(json);
}
