#include "run/quantise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

enum { JUDGED = 4 /* batches that errors are measured on */ };
static const double most_floats = 0.05; /* share of the weights that may stay in float32 */

/* Rows of the table that are computed as one: a layer, or merged ones. */
typedef struct layer {
    int first, rows;
    size_t weights;
    double alone; /* what it changes by itself */
    bool is_chosen;
} layer;

typedef struct quantising {
    const cm_quantise_request *request;
    const cm_param_table *table;
    const cm_positions *positions; /* of the request */
    cm_rollout *floats;
    float *measured, *tried; /* [rows of the table] ranges of all layers; those of a trial */
    layer *layers;           /* [rows of the table] at most */
    int count;
    double deviation; /* of the values */
} quantising;

/* ---- errors ---- */

static cm_network_use use_of(const cm_quantise_request *r, int rows) {
    return (cm_network_use){.network = r->network,
                            .stream = r->stream,
                            .rows = rows,
                            .compute = CM_F32,
                            .parameters = r->parameters,
                            .state = r->state};
}

static double denominator(const float *logits, int n) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += exp((double)logits[i]);
    return sum;
}

/* Of one distribution of n logits. */
static double distance(const float *a, const float *b, int n) {
    const double of_a = denominator(a, n), of_b = denominator(b, n);
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += fabs(exp((double)a[i]) / of_a - exp((double)b[i]) / of_b);
    return 0.5 * sum;
}

/* Adds the differences of one batch. */
static void add_errors(const quantising *q, const cm_rollout *bits, cm_quantise_error *sum) {
    const cm_policy_form form = cm_network_policy(q->request->network);
    const int rows = q->positions->rows;
    for (int k = 0; k <= cm_rollout_steps(bits); k++) {
        const float *a = cm_rollout_policy(bits, k), *b = cm_rollout_policy(q->floats, k);
        const float *v = cm_rollout_value(bits, k), *w = cm_rollout_value(q->floats, k);
        for (int i = 0; i < rows * form.numbers; i++)
            sum->policy += distance(a + i * form.values, b + i * form.values, form.values) / form.numbers;
        for (int i = 0; i < rows; i++) sum->value += fabs((double)v[i] - (double)w[i]) / q->deviation;
    }
}

static int judged(const quantising *q) { return q->positions->batches < JUDGED ? q->positions->batches : JUDGED; }

/* Of the layers whose ranges are in q->tried. Batches are spread over the games. */
static cm_status measure_error(const quantising *q, cm_quantise_error *out) {
    const cm_network_use use = use_of(q->request, q->positions->rows);
    cm_rollout *bits = NULL;
    *out = (cm_quantise_error){0.0, 0.0};
    cm_network_set_ranges(q->request->network, q->tried);
    cm_status status = cm_rollout_create(&use, q->positions->steps, &bits);
    cm_network_set_ranges(q->request->network, NULL);
    for (int i = 0; i < judged(q) && status == CM_OK; i++) {
        const int batch = (int)((int64_t)i * q->positions->batches / judged(q));
        cm_positions_fill(q->positions, batch, bits);
        cm_positions_fill(q->positions, batch, q->floats);
        status = cm_rollout_run(bits);
        if (status == CM_OK) status = cm_rollout_run(q->floats);
        if (status == CM_OK) add_errors(q, bits, out);
    }
    const double count = (double)judged(q) * q->positions->rows * (q->positions->steps + 1);
    out->policy /= count, out->value /= count;
    cm_rollout_destroy(bits);
    return status;
}

static double larger(cm_quantise_error e) { return fmax(e.policy, e.value); }

/* ---- layers ---- */

static void take(quantising *q, const layer *l) {
    for (int i = l->first; i < l->first + l->rows; i++) q->tried[i] = q->measured[i];
}

static void take_none(quantising *q) { memset(q->tried, 0, (size_t)q->table->count * sizeof *q->tried); }

/* Whether a layer is of a part; NULL: of the network. */
static bool is_of(const quantising *q, const layer *l, const char *part) {
    const char *name = q->table->param[l->first].name;
    const size_t length = part ? strlen(part) : 0;
    return !part || (strncmp(name, part, length) == 0 && name[length] == '.');
}

/* The layers of a part, or those of them that are chosen. */
static void take_part(quantising *q, const char *part, bool chosen_only) {
    take_none(q);
    for (int i = 0; i < q->count; i++)
        if (is_of(q, &q->layers[i], part) && (q->layers[i].is_chosen || !chosen_only)) take(q, &q->layers[i]);
}

static cm_status find_layers(quantising *q) {
    layer *layers = NULL;
    int count = 0;
    CM_TRY(cm_alloc(&layers, (size_t)q->table->count + 1, sizeof *layers, "layers"));
    for (int i = 0; i < q->table->count; i++) {
        const cm_param *p = &q->table->param[i];
        if (q->measured[i] <= 0.0f || !isfinite(q->measured[i])) continue;
        if (p->joined && count > 0 && layers[count - 1].first + layers[count - 1].rows == i) {
            layers[count - 1].rows++, layers[count - 1].weights += p->count;
        } else {
            layers[count++] = (layer){.first = i, .rows = 1, .weights = p->count, .is_chosen = true};
        }
    }
    q->layers = layers;
    q->count = count;
    return count > 0 ? CM_OK : cm_fail(CM_ERR_INPUT, "this network has no layer that can be in 8 bits");
}

static cm_status judge_layers(quantising *q) {
    for (int i = 0; i < q->count; i++) {
        cm_quantise_error error;
        take_none(q);
        take(q, &q->layers[i]);
        CM_TRY(measure_error(q, &error));
        q->layers[i].alone = larger(error);
    }
    return CM_OK;
}

/* The layer that changes most and is small enough to stay; NULL: there is none. */
static layer *most_sensitive(const quantising *q, size_t space) {
    layer *most = NULL;
    for (int i = 0; i < q->count; i++) {
        layer *l = &q->layers[i];
        if (l->is_chosen && l->weights <= space && (!most || l->alone > most->alone)) most = l;
    }
    return most;
}

static cm_status choose_all(quantising *q, cm_quantise_result *out) {
    take_part(q, NULL, true);
    CM_TRY(measure_error(q, &out->all));
    out->rest = out->all;
    return CM_OK;
}

static cm_status choose(quantising *q, cm_quantise_result *out) {
    size_t weights = 0;
    for (int i = 0; i < q->count; i++) weights += q->layers[i].weights;
    size_t space = (size_t)(most_floats * (double)weights);
    CM_TRY(judge_layers(q));
    CM_TRY(choose_all(q, out));
    while (larger(out->rest) > q->request->tolerance) {
        layer *l = most_sensitive(q, space);
        if (!l) break;
        l->is_chosen = false;
        space -= l->weights;
        take_part(q, NULL, true);
        CM_TRY(measure_error(q, &out->rest));
    }
    return CM_OK;
}

/* The row of the layer that reads observations, the first one that can be in 8 bits; -1: it is of no representation. */
static int row_of_observations(const quantising *q) {
    int row = 0;
    while (row < q->table->count && q->measured[row] <= 0.0f) row++;
    return row < q->table->count && strncmp(q->table->param[row].name, "representation.", 15) == 0 ? row : -1;
}

/* Of a network that trained for 8 bits all layers that have a range of training are in 8 bits, by that range, and
 * others are not. It follows the largest numbers of batches, so half of these are above it; that clips rare
 * activations, as it did while they were learnt. Of observations it clips what no layer can make good: on CartPole 27
 * of 500. So theirs is raised to what the positions need. */
static void take_trained(quantising *q, cm_quantise_result *out) {
    const int first = row_of_observations(q);
    cm_network_trained_ranges(q->request->network, q->request->state, q->tried);
    for (int i = 0; i < q->table->count; i++) out->is_trained = out->is_trained || q->tried[i] > 0.0f;
    for (int i = 0; i < q->table->count && out->is_trained; i++)
        if (q->tried[i] <= 0.0f || q->measured[i] < q->tried[i] || i != first) q->measured[i] = q->tried[i];
}

/* ---- the whole ---- */

static cm_status report_part(quantising *q, const char *name, cm_quantise_result *out) {
    cm_quantise_part part = {.name = name};
    for (int i = 0; i < q->count; i++) {
        part.layers += is_of(q, &q->layers[i], name);
        part.chosen += is_of(q, &q->layers[i], name) && q->layers[i].is_chosen;
    }
    if (part.layers == 0) return CM_OK;
    take_part(q, name, false);
    CM_TRY(measure_error(q, &part.all));
    take_part(q, name, true);
    CM_TRY(measure_error(q, &part.rest));
    out->part[out->part_count++] = part;
    return CM_OK;
}

static cm_status measure_ranges(quantising *q) {
    double sum = 0.0, squares = 0.0, count = 0.0;
    for (int batch = 0; batch < q->positions->batches; batch++) {
        cm_positions_fill(q->positions, batch, q->floats);
        CM_TRY(cm_rollout_measure(q->floats, q->measured));
        for (int k = 0; k <= q->positions->steps; k++)
            for (int i = 0; i < q->positions->rows; i++) {
                const double value = (double)cm_rollout_value(q->floats, k)[i];
                sum += value, squares += value * value, count += 1.0;
            }
    }
    q->deviation = fmax(sqrt(fmax(squares / count - sum / count * (sum / count), 0.0)), 1e-6);
    return CM_OK;
}

static cm_status open_all(quantising *q, cm_quantise_result *out) {
    const cm_quantise_request *r = q->request;
    const size_t rows = (size_t)q->table->count + 1;
    CM_TRY(cm_alloc(&out->ranges, rows, sizeof *out->ranges, "ranges of layers"));
    CM_TRY(cm_alloc(&out->measured, rows, sizeof *out->measured, "ranges of layers"));
    q->measured = out->measured;
    CM_TRY(cm_alloc(&q->tried, rows, sizeof *q->tried, "ranges of layers"));
    const cm_network_use use = use_of(r, q->positions->rows);
    return cm_rollout_create(&use, q->positions->steps, &q->floats);
}

static cm_status run(quantising *q, cm_quantise_result *out) {
    static const char *const parts[CM_QUANTISE_PARTS] = {"representation", "afterstate", "dynamics", "prediction"};
    CM_TRY(open_all(q, out));
    CM_TRY(measure_ranges(q));
    take_trained(q, out);
    CM_TRY(find_layers(q));
    CM_TRY(out->is_trained ? choose_all(q, out) : choose(q, out));
    for (int i = 0; i < CM_QUANTISE_PARTS; i++) CM_TRY(report_part(q, parts[i], out));
    take_part(q, NULL, true);
    memcpy(out->ranges, q->tried, (size_t)q->table->count * sizeof *out->ranges);
    out->positions = q->positions->rows * q->positions->batches;
    out->steps = q->positions->steps;
    return CM_OK;
}

cm_status cm_quantise(const cm_quantise_request *request, cm_quantise_result *out) {
    quantising q = {
        .request = request, .positions = request->positions, .table = cm_network_parameters(request->network)};
    *out = (cm_quantise_result){.ranges = NULL};
    cm_status status = run(&q, out);
    cm_rollout_destroy(q.floats);
    free(q.tried);
    free(q.layers);
    return status;
}

void cm_quantise_free(cm_quantise_result *result) {
    free(result->ranges);
    free(result->measured);
    result->ranges = result->measured = NULL;
}
