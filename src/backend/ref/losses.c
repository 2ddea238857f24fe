/* policy_loss, scalar_loss, square_loss, consistency_loss. */
#include "backend/ref/ref.h"
#include "backend/ref/softmax.h"

/* One row of policy_loss; legal may be NULL. Entries that are not legal take no part. */
typedef struct policy_row {
    const float *logits, *target, *legal;
    int n;
    cm_softmax_d softmax;
    double target_sum, loss, entropy;
} policy_row;

static bool is_legal(const policy_row *p, int i) { return !p->legal || p->legal[i] != 0.0f; }

static void policy_row_measure(policy_row *p, bool kl) {
    p->softmax = ref_softmax_of(p->logits, p->legal, p->n);
    for (int i = 0; i < p->n; i++) {
        if (!is_legal(p, i)) continue;
        double t = (double)p->target[i], log_p = cm_softmax_log_d(&p->softmax, (double)p->logits[i]);
        double probability = cm_softmax_probability_d(&p->softmax, (double)p->logits[i]);
        p->target_sum += t;
        p->loss += cm_policy_entry_loss_d(t, log_p, kl);
        p->entropy += cm_policy_entry_entropy_d(probability, log_p);
    }
}

/* d(loss - weight entropy) / dlogits[i] */
static double policy_row_gradient(const policy_row *p, int i, double weight) {
    if (!is_legal(p, i)) return 0.0;
    double probability = cm_softmax_probability_d(&p->softmax, (double)p->logits[i]);
    double log_p = cm_softmax_log_d(&p->softmax, (double)p->logits[i]), flat = p->target_sum + weight * p->entropy;
    return cm_policy_slope_d(probability, log_p, (double)p->target[i], flat, weight);
}

cm_status cm_ref_policy_loss(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *loss = CM_ARG(call, policy_loss, loss), *entropy = CM_ARG(call, policy_loss, entropy);
    const cm_tensor *dlogits = CM_ARG(call, policy_loss, dlogits), *logits = CM_ARG(call, policy_loss, logits);
    const cm_tensor *target = CM_ARG(call, policy_loss, target), *legal = CM_ARG(call, policy_loss, legal);
    const cm_tensor *coefficient = CM_ARG(call, policy_loss, coefficient);
    for (int b = 0; b < logits->dim[0]; b++) {
        policy_row p = {.logits = ref_row(logits, b),
                        .target = ref_row(target, b),
                        .legal = legal->data ? ref_row(legal, b) : NULL,
                        .n = logits->dim[1]};
        policy_row_measure(&p, call->attr.kl);
        ((float *)loss->data)[b] = (float)p.loss;
        if (entropy->data) ((float *)entropy->data)[b] = (float)p.entropy;
        for (int i = 0; dlogits->data && i < p.n; i++)
            ref_put(ref_row(dlogits, b) + i,
                    (double)ref_at(coefficient, b) * policy_row_gradient(&p, i, (double)call->attr.scale),
                    CM_ADDS(call, policy_loss, dlogits));
    }
    return CM_OK;
}

cm_status cm_ref_scalar_loss(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *loss = CM_ARG(call, scalar_loss, loss), *dprediction = CM_ARG(call, scalar_loss, dprediction);
    const cm_tensor *prediction = CM_ARG(call, scalar_loss, prediction);
    for (int b = 0; b < prediction->dim[0]; b++) {
        double off = (double)*ref_row(prediction, b) - (double)ref_at(CM_ARG(call, scalar_loss, target), b);
        ((float *)loss->data)[b] = (float)(off * off);
        if (dprediction->data)
            ref_put(ref_row(dprediction, b), 2.0 * (double)ref_at(CM_ARG(call, scalar_loss, coefficient), b) * off,
                    CM_ADDS(call, scalar_loss, dprediction));
    }
    return CM_OK;
}

cm_status cm_ref_square_loss(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *loss = CM_ARG(call, square_loss, loss), *dx = CM_ARG(call, square_loss, dx);
    const cm_tensor *x = CM_ARG(call, square_loss, x), *y = CM_ARG(call, square_loss, y);
    int n = x->dim[1];
    for (int b = 0; b < x->dim[0]; b++) {
        const float *u = ref_row(x, b), *v = ref_row(y, b);
        double sum = 0.0, factor = 2.0 * (double)ref_at(CM_ARG(call, square_loss, coefficient), b) / n;
        for (int i = 0; i < n; i++) {
            double off = (double)u[i] - (double)v[i];
            sum += off * off;
            if (dx->data) ref_put(ref_row(dx, b) + i, factor * off, CM_ADDS(call, square_loss, dx));
        }
        ((float *)loss->data)[b] = (float)(sum / n);
    }
    return CM_OK;
}

cm_status cm_ref_consistency_loss(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *loss = CM_ARG(call, consistency_loss, loss), *dx = CM_ARG(call, consistency_loss, dx);
    const cm_tensor *x = CM_ARG(call, consistency_loss, x), *y = CM_ARG(call, consistency_loss, y);
    int n = x->dim[1];
    for (int b = 0; b < x->dim[0]; b++) {
        const float *u = ref_row(x, b), *v = ref_row(y, b);
        cm_cosine_d cosine =
            cm_cosine_of_d(ref_dot(u, u, n, CM_F32), ref_dot(v, v, n, CM_F32), ref_dot(u, v, n, CM_F32));
        double c = (double)ref_at(CM_ARG(call, consistency_loss, coefficient), b);
        ((float *)loss->data)[b] = (float)-cosine.value;
        for (int i = 0; dx->data && i < n; i++)
            ref_put(ref_row(dx, b) + i, c * cm_cosine_slope_d(&cosine, (double)u[i], (double)v[i]),
                    CM_ADDS(call, consistency_loss, dx));
    }
    return CM_OK;
}
