/* /metrics: the newest numbers of every run in Prometheus's text format. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "serve/routes.h"

/* A label's value: backslash, quote and line's end are escaped, other control characters left out. */
static void put_label(FILE *out, const char *name, const char *value) {
    fprintf(out, "%s=\"", name);
    for (const char *c = value; *c; c++) {
        if (*c == '\\' || *c == '"') fputc('\\', out);
        if (*c == '\n') fputs("\\n", out);
        if ((unsigned char)*c >= ' ' && *c != 0x7f) fputc(*c, out);
    }
    fputc('"', out);
}

static void put_sample(FILE *out, const char *name, const cm_site_run *run, double value) {
    fprintf(out, "cumind_%s{", name);
    put_label(out, "run", run->path);
    fputc(',', out);
    put_label(out, "environment", run->summary.environment);
    fprintf(out, "} %.9g\n", value);
}

static void put_head(FILE *out, const char *name, const char *help) {
    fprintf(out, "# HELP cumind_%s %s\n# TYPE cumind_%s gauge\n", name, help, name);
}

static void put_field(FILE *out, const cm_site *site, const cm_metrics_field *field) {
    char help[128];
    bool has_head = false;
    snprintf(help, sizeof help, "%s of the newest line of metrics.jsonl (%s in TensorBoard).", field->name, field->tag);
    for (int i = 0; i < site->count; i++) {
        const cm_site_run *run = &site->runs[i];
        const double value = run->has_last ? cm_metrics_number(&run->last, field) : (double)NAN;
        if (!isfinite(value)) continue;
        if (!has_head) put_head(out, field->name, help);
        has_head = true;
        put_sample(out, field->name, run, value);
    }
}

static void put_all(FILE *out, const cm_site *site) {
    int count;
    const cm_metrics_field *fields = cm_metrics_fields(&count);
    put_head(out, "training", "Whether a process trains the run.");
    for (int i = 0; i < site->count; i++)
        put_sample(out, "training", &site->runs[i], site->runs[i].files.is_training ? 1.0 : 0.0);
    put_head(out, "goal", "Mean return that is the goal of the run.");
    for (int i = 0; i < site->count; i++)
        if (isfinite(site->runs[i].summary.goal)) put_sample(out, "goal", &site->runs[i], site->runs[i].summary.goal);
    for (int i = 0; i < count; i++) put_field(out, site, &fields[i]);
}

void cm_route_prometheus(const cm_serve_call *call, cm_answer *out) {
    out->status = 503;
    FILE *file = open_memstream(&out->text, &out->size);
    if (!file) return;
    put_all(file, call->site);
    if (fclose(file) == 0) out->status = 200;
    out->type = "text/plain; version=0.0.4; charset=utf-8";
}
