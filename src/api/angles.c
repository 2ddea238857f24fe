#include "api/api.h"
#include "core/von_mises.h"

enum { MOST_THREADS = 1024, LEAST_DRAWS_PER_THREAD = 1 << 15 }; /* fewer take less time than to start a thread */

static cm_status check_count(const char *name, size_t count, size_t n) {
    if (count == 1 || count == n) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "angles.%s must be 1, or angles.n = %zu, got %zu", name, n, count);
}

static cm_status check(const cumind_angles *angles, const void *mu, const void *kappa, const void *out) {
    CM_TRY(cm_api_need(angles, "angles"));
    CM_TRY(cm_api_need(mu, "mu"));
    CM_TRY(cm_api_need(kappa, "kappa"));
    CM_TRY(cm_api_need(out, "out"));
    CM_TRY(check_count("mu_count", angles->mu_count, angles->n));
    CM_TRY(check_count("kappa_count", angles->kappa_count, angles->n));
    if (angles->threads >= 0 && angles->threads <= MOST_THREADS) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "angles.threads must be 0 .. %d, got %d", MOST_THREADS, angles->threads);
}

/* The threads for so many draws in *pool; NULL: this one alone. The caller destroys it. */
static cm_status open_pool(const cumind_angles *angles, cm_pool **pool) {
    const size_t useful = angles->n / LEAST_DRAWS_PER_THREAD;
    const int wanted = angles->threads ? angles->threads : cm_cpu_count();
    const int threads = useful < (size_t)wanted ? (int)useful : wanted;
    *pool = NULL;
    return threads > 1 ? cm_pool_create(threads, pool) : CM_OK;
}

static cm_key key_of(const cumind_angles *angles) { return cm_key_make(angles->seed, CM_RNG_ANGLE, angles->stream); }

/* In float64 or float32: the arrays are of that type. */
static cm_status draw(const cumind_angles *angles, const void *mu, const void *kappa, void *out, bool is_float) {
    cm_pool *pool;
    CM_TRY(check(angles, mu, kappa, out));
    CM_TRY(open_pool(angles, &pool));
#define DRAWS                                                                                                          \
    {                                                                                                                  \
        .key = key_of(angles), .first = angles->first, .count = angles->n, .mu = mu, .kappa = kappa,                   \
        .one_mu = angles->mu_count == 1, .one_kappa = angles->kappa_count == 1, .out = out                             \
    }
    const cm_von_mises_draws_d of_double = DRAWS;
    const cm_von_mises_draws_f of_float = DRAWS;
#undef DRAWS
    const cm_status status = is_float ? cm_von_mises_batch_f(pool, &of_float) : cm_von_mises_batch_d(pool, &of_double);
    cm_pool_destroy(pool);
    return status;
}

cumind_status cumind_von_mises(const cumind_angles *angles, const double *mu, const double *kappa, double *out) {
    return (cumind_status)draw(angles, mu, kappa, out, false);
}

cumind_status cumind_von_mises_float(const cumind_angles *angles, const float *mu, const float *kappa, float *out) {
    return (cumind_status)draw(angles, mu, kappa, out, true);
}
