#!/usr/bin/env bash
# Mutation test of the kernels for GPUs: changes one sign, bound or count at a time in a copy of the headers that hold their
# arithmetic, and expects one of the tests test_cuda_ops, test_cuda_half and test_cuda_int8 of tests/backend/cuda/ops/, test_cuda_row_kernel,
# test_cuda_segments, test_cuda_towers, test_cuda_norm_convs and test_cuda_norm_grads of tests/backend/cuda/fused/, mcts/test_device_search and
# agent/test_simulations to fail. Run by `make mutants-kernels`, which gives FLAGS, LIBS, and the objects of each test but the kernels, and but
# tower_build.c and norm_convs*.c, which are changed, too; takes some minutes.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
# shellcheck source=scripts/mutants_loop.sh
. scripts/mutants_loop.sh

CC=${CC:-gcc}
SOURCE=src
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

mutants() {
    cat <<'END'
backend/formulas.inc|return x < 0 ? e / (1 + e) : 1 / (1 + e)|return x < 0 ? 1 / (1 + e) : e / (1 + e)
backend/formulas.inc|CM_GELU_CUBE * x * x * x|CM_GELU_CUBE * x * x
backend/formulas.inc|case CM_ACT_RELU: return x <= 0 ? 0 : x|case CM_ACT_RELU: return x
backend/formulas.inc|case CM_ACT_ELU: return x <= 0 ? CM_M(exp)(x) : 1|case CM_ACT_ELU: return x <= 0 ? CM_M(expm1)(x) : 1
backend/formulas.inc|return inverse * (g - mean_g - normal * mean_along)|return inverse * (g - mean_g + normal * mean_along)
backend/formulas.inc|if (i == group->low) g -= group->sum - group->along|if (i == group->low) g -= group->sum
backend/formulas.inc|return x - s->max - s->log_sum|return x - s->max + s->log_sum
backend/formulas.inc|return -t * (kl ? log_p - CM_M(log)(t) : log_p)|return -t * log_p
backend/formulas.inc|return i == index ? 1 - fraction|return i == index ? fraction
backend/formulas.inc|*v = r->beta2 * *v + r->rest2 * g * g|*v = r->beta2 * *v + r->rest2 * g
backend/formulas.inc|*m / r->correction1|*m
backend/formulas.inc|if (!r->decoupled) g += r->weight_decay * p|if (r->decoupled) g += r->weight_decay * p
backend/formulas.inc|return p - r->rate * *v|return p + r->rate * *v
backend/formulas.inc|x + (1 - scale) * (y - x)|x - (1 - scale) * (y - x)
backend/formulas.inc|u.c = u.gate[1] * c + u.gate[0] * u.gate[2]|u.c = u.gate[0] * c + u.gate[1] * u.gate[2]
backend/formulas.inc|dgate[2] = dc * i * (1 - g * g)|dgate[2] = dc * i * (1 + g * g)
backend/cuda/ops/rows.h|*out = add ? *out + value : value|*out = value
device/cuda/lanes.h|(b.value == a.value) & (b.at < a.at)|(b.value == a.value) & (b.at > a.at)
backend/cuda/ops/rows.h|at.column = item - at.row * n|at.column = item - at.row
device/cuda/lanes.h|i += (lanes)->count|i += (lanes)->count + 1
backend/cuda/ops/elementwise.h|*cm_at(&k->a, at) + *cm_at(&k->b, at)|*cm_at(&k->a, at) - *cm_at(&k->b, at)
backend/cuda/ops/elementwise.h|scale * *cm_at(&k->a, at)|*cm_at(&k->a, at)
backend/cuda/ops/elementwise.h|*cm_at(&k->a, at) * slope|slope
backend/cuda/ops/rows.h|rows->data[row * rows->stride + column] = |rows->data[row + column] = 
backend/cuda/ops/rows.h|cm_to_half(value, rows->type)|cm_to_half(value, CM_BF16)
backend/cuda/ops/elementwise.h|at.row, at.column, *out)|at.row, at.column, value)
backend/cuda/ops/layer_norm.h|run.row, first + at, y[at])|run.row, at, y[at])
backend/cuda/ops/layer_norm.h|k->shift[first + at]|k->shift[first + i]
backend/cuda/ops/layer_norm.h|run.row, first + i, *dx)|run.row, i, *dx)
backend/cuda/ops/points.h|k->from + known * k->k + c|k->from + known * k->k
backend/cuda/ops/points.h|c + i < k->k ? cm_row|c + i + 1 < k->k ? cm_row
backend/cuda/ops/points.h|known * k->weight_row + c|known * k->weight_row
backend/cuda/ops/points.h|output < k->n ? output : k->n - 1|output + 1 < k->n ? output : 0
backend/cuda/ops/points.h|first + g + 8, c, bfloat|first + g, c, bfloat
backend/cuda/ops/points.h|cm_point_weight(k, g + 8, c)|cm_point_weight(k, g, c)
backend/cuda/ops/points.h|c += CM_POINT_CHUNK|c += 2 * CM_POINT_CHUNK
backend/cuda/ops/points.h|weight[j].pair + 2 * half|weight[j].pair
backend/cuda/ops/points.h|i / 4 * 8 + lanes->index % 4 * 2|i / 4 * 8 + lanes->index % 4
backend/cuda/ops/points.h|first + i / 2 % 2 * 8|first
backend/cuda/ops/points.h|point >= k->points) continue|false) continue
backend/cuda/ops/points.h|sum[i / 4][i % 4] + bias|sum[i / 4][i % 4]
backend/cuda/ops/minmax.h|group.column + at, y[at])|group.column + i, y[at])
backend/cuda/ops/minmax.h|group.column + at, own[j])|group.column + at, y[at])
backend/cuda/ops/minmax.h|group.column + at, dx[at])|group.column + at, dx[0])
backend/cuda/ops/support.h|item, i, dlogits[i])|item, i, dlogits[0])
backend/cuda/ops/losses.h|item, i, dx[i])|item, i, c * slope)
backend/cuda/ops/losses.h|item, 0, *dx)|item, 0, off)
backend/cuda/ops/columns.h|r < chunk.end; r++) sum|r + 1 < chunk.end; r++) sum
backend/cuda/ops/columns.h|r < k->chunks.rows; r += lanes->count|r + 1 < k->chunks.rows; r += lanes->count
backend/cuda/ops/columns.h|((int64_t)i * c->parts + part)|((int64_t)i * c->parts)
backend/cuda/ops/columns.h|if (chunk.end > c->rows) chunk.end = c->rows|if (chunk.end > c->rows) chunk.end = c->rows - 1
backend/cuda/ops/layer_norm.h|squares += (x[i] - mean) * (x[i] - mean)|squares += x[i] * x[i]
backend/cuda/ops/layer_norm.h|1.0f / sqrtf(|1.0f * sqrtf(
backend/cuda/ops/layer_norm.h|(double)(1.0f / (float)n)|(double)(2.0f / (float)n)
backend/cuda/ops/layer_norm.h|along += g * e.normal|along -= g * e.normal
backend/cuda/ops/layer_norm.h|of_scale += e.gradient * e.normal|of_scale += e.gradient
backend/cuda/ops/layer_norm.h|saved[1] = inverse|saved[1] = mean
backend/cuda/ops/batch_norm.h|squares += off * off|squares += off
backend/cuda/ops/batch_norm.h|sum += rows * mean|sum += mean
backend/cuda/ops/batch_norm.h|rows * mean * mean;|mean * mean;
backend/cuda/ops/batch_norm.h|c->rows > 1 ? c->rows - 1 : 1|c->rows
backend/cuda/ops/batch_norm.h|value += *cm_at(&k->residual, at)|value -= *cm_at(&k->residual, at)
backend/cuda/ops/batch_norm.h|k->constant ? 0.0f : 1.0f / (float)k->chunks.rows|1.0f / (float)k->chunks.rows
backend/cuda/ops/batch_norm.h|k->variance + (item - k->channels)|k->variance + item % 2
backend/cuda/ops/batch_norm.h|if (!cm_step_counts(k->factor)) return|if (cm_step_counts(k->factor)) return
backend/cuda/ops/batch_norm_half.h|squares[i] += off * off|squares[i] += off
backend/cuda/ops/batch_norm_half.h|const float squares = cm_norm_sum(&lane, k, lanes, 1, c) - sum * sum / rows|const float squares = cm_norm_sum(&lane, k, lanes, 1, c) + sum * sum / rows
backend/cuda/ops/batch_norm_half.h|k->type) + sum / rows|k->type) - sum / rows
backend/cuda/ops/batch_norm_half.h|along[i] += g *|along[i] -= g *
backend/cuda/ops/batch_norm_half.h|r + j * lane->rows < end ? 1.0f : 0.0f|r + j * lane->rows < end ? 1.0f : 1.0f
backend/cuda/ops/batch_norm_half.h|lanes->index % lane.groups) * CM_EIGHT|lanes->index % lane.groups) * CM_FOUR
backend/cuda/ops/batch_norm_half.h|i < lane->rows; i++) sum|i + 1 < lane->rows; i++) sum
backend/cuda/ops/batch_norm_half.h|(int64_t)part * lane->rows + i|(int64_t)i
backend/cuda/ops/batch_norm_half.h|lane.rows = CM_BLOCK / lane.groups|lane.rows = CM_BLOCK / lane.groups / 2
backend/cuda/ops/batch_norm_half.h|if (adds) y[i] +=|if (adds) y[i] -=
backend/cuda/ops/batch_norm_half.h|y[i] <= 0.0f) y[i]|y[i] >= 0.0f) y[i]
backend/cuda/ops/rows.h|!(y > 0.0f) ? 0.0f : dy|!(y > 0.0f) ? dy : 0.0f
backend/cuda/ops/batch_norm_half.h|add ? x[i] +|add ? x[i] -
backend/cuda/ops/batch_norm_half.h|cm_norm_sum(&lane, k, lanes, 1, c) * cm_batch_norm_inverse(k, c)|cm_norm_sum(&lane, k, lanes, 1, c)
backend/cuda/ops/batch_norm_half.h|i < CM_FOUR ? eight->low|i < CM_FOUR ? eight->high
backend/cuda/ops/batch_norm_half.h|i % 2 * 16|0
backend/cuda/ops/batch_norm_half.h|at.row * rows_of_item|at.row
backend/cuda/ops/batch_norm_half.h|bfloat ? CM_BF16 : CM_F16|CM_BF16
backend/cuda/ops/batch_norm.h|k->shift[item] - (float)mean|k->shift[item] + (float)mean
backend/cuda/ops/batch_norm.h|of_x = -of_g * inverse * along|of_x = of_g * inverse * along
backend/cuda/ops/batch_norm.h|-of_g * sum / rows - of_x * k->mean[item]|-of_g * sum / rows + of_x * k->mean[item]
backend/cuda/ops/batch_norm.h|-of_g * sum / rows - of_x|of_g * sum / rows - of_x
backend/cuda/ops/minmax.h|turned = {-own[j], |turned = {own[j], 
backend/cuda/ops/minmax.h|(own[j] - least) / range|own[j] / range
backend/cuda/ops/minmax.h|x[(int64_t)cm_few_at(i, j, k->n, lanes) * k->step]|x[(int64_t)i * k->step]
backend/cuda/ops/minmax.h|i + j * lanes->count < k->n; j++|i + j * lanes->count + 1 < k->n; j++
backend/cuda/ops/minmax.h|saved[2] = 1.0f / range|saved[2] = range
backend/cuda/ops/minmax.h|least = -cm_lanes_max(lanes, -least)|least = -cm_lanes_max(lanes, least)
backend/cuda/ops/minmax.h|if (isnan(x[0])) least = most = NAN|
backend/cuda/ops/minmax.h|(own[j].v[e] - least) / range|own[j].v[e] / range
backend/cuda/ops/minmax.h|j < TURN && i + j * lanes->count < n; j++|j + 1 < TURN && i + j * lanes->count < n; j++
backend/cuda/ops/minmax.h|{own[j], cm_few_at(i, j, n, lanes)}|{own[j], i}
backend/cuda/ops/shape.h|cm_four_at(cm_row(&k->x, row) + at.column * CM_FOUR)|cm_four_at(cm_row(&k->x, row) + at.column)
backend/cuda/ops/shape.h|if (cm_is_known(k, row)) *(cm_four *)|if (row >= 0) *(cm_four *)
backend/cuda/ops/dense.h|k->fours && first + CM_EIGHT <= k->n|k->fours
backend/cuda/ops/dense.h|? cm_to_half(x[i], k->type) : 0|? cm_to_half(x[i], CM_BF16) : 0
backend/cuda/ops/softmax.h|return cm_lanes_max(lanes, most)|return most + 0.0f * cm_lanes_max(lanes, most)
backend/cuda/ops/softmax.h|y[i] * (dy[i] - along)|y[i] * (dy[i] + along)
backend/cuda/ops/softmax.h|dy[i] - expf(y[i]) * sum|dy[i] - y[i] * sum
backend/cuda/ops/softmax.h|i == best ? 1.0f : 0.0f|i == best ? 0.0f : 1.0f
backend/cuda/ops/softmax.h|legal && legal[i] == 0.0f ? 0.0f|legal && legal[i] == 0.0f ? 1.0f
backend/cuda/ops/support.h|(double)support->min + step * i|(double)support->min - step * i
backend/cuda/ops/support.h|/ (double)sum|* (double)sum
backend/cuda/ops/support.h|sum += part;|sum = part;
backend/cuda/ops/support.h|mean += (double)part *|mean += 2.0 * (double)part *
backend/cuda/ops/support.h|fraction * cm_softmax_log_f(&s, logits[p.index + 1])|fraction * cm_softmax_log_f(&s, logits[p.index])
backend/cuda/ops/support.h|k->inverse ? cm_transform_inverse|!k->inverse ? cm_transform_inverse
backend/cuda/ops/losses.h|flat = sum + k->weight * entropy|flat = sum - k->weight * entropy
backend/cuda/ops/losses.h|if (legal && legal[i] == 0.0f) continue;|
backend/cuda/ops/losses.h|2.0f * k->coefficient[item] * off|k->coefficient[item] * off
backend/cuda/ops/losses.h|2.0f * k->coefficient[item] / (float)k->n|2.0f * k->coefficient[item]
backend/cuda/ops/losses.h|xy += (double)x[i] * (double)y[i]|xy += (double)x[i]
backend/cuda/ops/shape.h|h <= 2 * at.h + 1 && h < k->H|h < 2 * at.h + 1 && h < k->H
backend/cuda/ops/shape.h|p <= (at.h + 1) / 2|p < (at.h + 1) / 2
backend/cuda/ops/shape.h|sum / (float)cells|sum
backend/cuda/ops/shape.h|at.column - k->channels == e.column|at.column == e.column
backend/cuda/ops/shape.h|if (k->index[b] == at.row) sum|sum
backend/cuda/ops/shape.h|cm_row(&k->x, row)[at.column] : NAN|*cm_at(&k->x, at) : NAN
backend/cuda/ops/shape.h|cm_row(&k->y, row)[at.column] = |*cm_at(&k->y, at) = 
backend/cuda/ops/shape.h|cm_row(&k->x, item), times, value)|cm_row(&k->x, item), value, value)
backend/cuda/ops/shape.h|if (times != 0.0f) value = |value = 
backend/cuda/ops/frames.h|at < 0 ? 0 : at|at < 0 ? 1 : at
backend/cuda/ops/frames.h|cell.row + shift[0]|cell.row - shift[0]
backend/cuda/ops/frames.h|cell.column + shift[1]|cell.column + shift[0]
backend/cuda/ops/frames.h|index[0] == -1|frame == -1
backend/cuda/ops/frames.h|frame >= 0 && frame < k->frames|frame >= 0
backend/cuda/ops/frames.h|k->unit : k->floats[from + c]) * factor|k->unit : k->floats[from + c])
backend/cuda/ops/frames.h|k->bytes[from + c] * k->unit|k->bytes[from + c]
backend/cuda/ops/frames.h|picture.row * k->shift_stride|picture.row * 2
backend/cuda/ops/frames.h|cm_to_half(value, k->type)|cm_to_half(value, CM_BF16)
backend/cuda/ops/optimizer.h|k->y[item] += k->x[item]|k->y[item] -= k->x[item]
backend/cuda/ops/optimizer.h|first = item * CM_NORM_BLOCK|first = item * (CM_NORM_BLOCK - 1)
backend/cuda/ops/optimizer.h|sum += (double)k->x[i] * (double)k->x[i]|sum += (double)k->x[i]
backend/cuda/ops/optimizer.h|if (place.column < copy->columns)|if (place.column <= copy->columns)
backend/cuda/ops/optimizer.h|place.row * copy->stride|place.row * copy->step
backend/cuda/ops/optimizer.h|place.column < copy->columns ? row|place.column <= copy->columns ? row
backend/cuda/ops/optimizer.h|copy++) item -= copy->cells|copy++) item -= copy->count
backend/cuda/ops/optimizer.h|cm_to_half(value, copy->type)|cm_to_half(value, CM_BF16)
backend/cuda/ops/optimizer.h|rates->gradient_scale *= k->factor[0]|rates->gradient_scale *= k->factor[1]
backend/formulas.h|sqrt(squares) / scale|squares / scale
backend/formulas.h|sqrt(squares) / scale|sqrt(squares)
backend/formulas.h|cm_clip_factor_d(norm, rule->clip_norm) / scale|cm_clip_factor_d(norm, rule->clip_norm)
backend/formulas.h|if (scaling && sound)|if (scaling)
backend/formulas.h|if (scaling[CM_SCALING_SCALE] <= 1.0f)|if (scaling[CM_SCALING_SCALE] < 1.0f)
backend/formulas.h|scaling[CM_SCALING_SCALE] *= 0.5f|scaling[CM_SCALING_SCALE] *= 2.0f
backend/formulas.h|scaling[CM_SCALING_GOOD] < (float)rule->growth|scaling[CM_SCALING_GOOD] <= (float)rule->growth
backend/formulas.h|scaling[CM_SCALING_SCALE] < CM_SCALING_MOST|scaling[CM_SCALING_SCALE] <= CM_SCALING_MOST
backend/formulas.h|pow(rule->beta1|pow(rule->beta2
backend/formulas.h|scaling[CM_SCALING_SKIPPED] += 1.0f|scaling[CM_SCALING_SKIPPED] += 2.0f
backend/formulas.inc|r->correction1 = (CM_R)scaling[CM_SCALING_CORRECTION1]|r->correction1 = (CM_R)scaling[CM_SCALING_CORRECTION2]
backend/cuda/ops/optimizer.h|!isfinite(own[j / CM_FOUR].v[j % CM_FOUR])|!isfinite(own[j / CM_FOUR].v[0])
backend/cuda/ops/optimizer.h|i < fours; i += TURN|i < fours; i += 2 * TURN
backend/cuda/ops/optimizer.h|CM_FOUR * fours + lanes->index|CM_FOUR * fours + CM_FOUR + lanes->index
backend/cuda/ops/optimizer.h|cm_rates_correct_f(&rates, k->scaling)|cm_rates_correct_f(&rates, NULL)
backend/cuda/ops/elementwise.h|k->scale * k->times[0]|k->times[0]
backend/cuda/ops/optimizer.h|if (cm_step_counts(k->factor)) k->y[item]|if (!cm_step_counts(k->factor)) k->y[item]
backend/formulas.inc|most > 0 && factor < 1 ? factor|factor < 1 ? factor
backend/cuda/ops/dense.h|k->from[at.row * k->half_stride|k->from[at.row * k->n
backend/cuda/ops/dense.h|k->to[at.row * k->half_stride|k->to[at.row * k->n
backend/cuda/ops/dense.h|b + j < chunk.end && e.column == at.row|b + j < chunk.end
backend/cuda/ops/dense.h|b + j < chunk.end && e.column == at.row|e.column == at.row
backend/cuda/ops/dense.h|k->action[b + j < chunk.end ? b + j : b]|k->action[b]
backend/cuda/ops/dense.h|cm_row(&k->x, b + j)[at.column]|cm_row(&k->x, b)[at.column]
backend/cuda/ops/dense.h|cm_chunks_sum(&k->chunks, 0, item|cm_chunks_sum(&k->chunks, 0, at.row
backend/cuda/ops/dense.h|terms->bias + e->value|terms->bias - e->value
backend/cuda/ops/dense.h|terms.bias = k->bias[column]|terms.bias = k->bias[0]
backend/cuda/ops/dense.h|column)[e->column]|column)[0]
backend/cuda/ops/dense.h|k->action[row] : -1|k->action[0] : -1
backend/cuda/ops/dense.h|k->from ? cm_widen(|k->from ? 0.5f * cm_widen(
backend/cuda/ops/dense.h|at.column], k->type) :|at.column], CM_BF16) :
backend/cuda/ops/dense.h|cm_to_half(*cm_at(&k->x, at), k->type)|cm_to_half(*cm_at(&k->x, at), CM_BF16)
backend/int8.h|y > -most ? y : -most|y
backend/int8.h|low < most ? low : most|low
backend/cuda/ops/int8.h|i < left ? (int)rintf|true ? (int)rintf
backend/cuda/ops/int8.h|rintf(cm_int8_clipped|truncf(cm_int8_clipped
backend/cuda/ops/int8.h|& 255u) << 8 * i|& 255u) << 4 * i
backend/cuda/ops/int8.h|((uint32_t)number & 255u)|(uint32_t)number
backend/cuda/ops/int8.h|cm_row(&k->x, at.row) + first|cm_row(&k->x, at.row)
backend/cuda/ops/int8.h|cm_fake_range(row, k->columns, lanes)|cm_fake_range(row, k->channels, lanes)
backend/cuda/ops/int8.h|k->to[item * words + i]|k->to[i]
backend/cuda/ops/int8.h|row + tap * k->channels + first|row + tap + first
backend/cuda/ops/int8.h|k->steps[item] = |k->steps[0] = 
backend/cuda/ops/int8.h|const int pad = k->window / 2|const int pad = (k->window + 1) / 2
backend/cuda/ops/int8.h|(int)cell.row * k->stride - pad|(int)cell.row - pad
backend/cuda/ops/int8.h|(int)cell.column * k->stride - pad|(int)cell.column - pad
backend/cuda/ops/int8.h|corner->y + tap / k->window, x = corner->x + tap % k->window|corner->y + tap % k->window, x = corner->x + tap / k->window
backend/cuda/ops/int8.h|y >= k->H|y > k->H
backend/cuda/ops/int8.h|x < 0|false
backend/cuda/ops/int8.h|x >= k->W|x > k->W
backend/cuda/ops/int8.h|corner->image * k->H + y|corner->image + y
backend/cuda/ops/int8.h|output < k->n ? output : k->n - 1|output
backend/cuda/ops/int8.h|known * k->window * k->window + tap|known + tap
backend/cuda/ops/int8.h|c < k->place ? cm_int8_piece_at(k->weight|true ? cm_int8_piece_at(k->weight
backend/cuda/ops/int8.h|row + g + 8 * i)|row + g)
backend/cuda/ops/int8.h|output + g + 8 * i, tap|output + g, tap
backend/cuda/ops/int8.h|tap < taps; tap++|tap + 1 < taps; tap++
backend/cuda/ops/int8.h|c += CM_INT8_CHUNK|c += 2 * CM_INT8_CHUNK
backend/cuda/ops/int8.h|x[2 * i + 1].word + 2 * half|x[2 * i].word + 2 * half
backend/cuda/ops/int8.h|{low[0], high[0], low[1], high[1]}|{low[0], low[1], high[0], high[1]}
backend/cuda/ops/int8.h|weight[j].word + 2 * half|weight[j].word
backend/cuda/ops/int8.h|k->steps[output] * k->step|k->steps[output]
backend/cuda/ops/int8.h|k->variance[output] + k->epsilon|k->variance[output]
backend/cuda/ops/int8.h|a.scale *= factor;|
backend/cuda/ops/int8.h|k->shift[output] - k->mean[output]|k->shift[output] + k->mean[output]
backend/cuda/ops/int8.h|if (k->residual.data) x += |if (k->residual.data) x -= 
backend/cuda/ops/int8.h|cm_dense_action(&k->end, at.row)|cm_dense_action(&k->end, 0)
backend/cuda/ops/int8.h|c / 2 * 8 + lanes->index % 4 * 2|c / 2 * 4 + lanes->index % 4 * 2
backend/cuda/ops/int8.h|lanes->index % 4 * 2 + c % 2|lanes->index % 4 * 2
backend/cuda/ops/int8.h|if (at.column >= k->n) continue|if (at.column > k->n) continue
backend/cuda/ops/int8.h|if (at.row < k->rows) cm_int8_finish|cm_int8_finish
backend/cuda/ops/int8.h|sum[i / 2][c / 2]|sum[i / 2][c / 4]
backend/cuda/ops/int8.h|[i % 2 * 2 + c % 2]|[i % 2 * 2]
backend/cuda/fused/row_product.h|low + 8 * s->x.stride|low
backend/cuda/fused/row_product.h|cm_row_of_weight(l, o + 8 + l->g, s->n)|cm_row_of_weight(l, o + l->g, s->n)
backend/cuda/fused/row_product.h|l->weight.row + 8 * l->q|l->weight.row + 4 * l->q
backend/cuda/fused/row_lane.h|output < n ? output : n - 1|output < n - 1 ? output : 0
backend/cuda/fused/row_lane.h|if (at + i < k) four.v[i]|four.v[i]
backend/cuda/fused/row_product.h|paired = {l->g + second|paired = {l->g + product * 8
backend/cuda/fused/row_product.h|wide = {column + second|wide = {column + product * 8
backend/cuda/fused/row_product.h|o + product * 8 + l->g}|o + second + l->g}
backend/cuda/fused/row_product.h|2 * l->q + i % 2 + i / 2 * 8 : l->g|2 * l->q + i / 2 * 8 : l->g
backend/cuda/fused/row_product.h|: l->g + i / 2 * 8;|: l->g;
backend/cuda/fused/row_product.h|l->type != CM_F32 && i % 2 == 1)|l->type != CM_F32 && i > 0)
backend/cuda/fused/row_product.h|return i / 4 * 2 + i % 2|return i / 4 * 2
backend/cuda/fused/row_product.h|&action[cm_row_action_of(i)], cm_row_known|&action[0], cm_row_known
backend/cuda/fused/row_product.h|&action[cm_row_action_of(i)], &terms[i]|&action[0], &terms[i]
backend/cuda/fused/row_product.h|&action[cm_row_action_of(i)], &terms[i]|&action[cm_row_action_of(i)], &terms[0]
backend/cuda/fused/row_product.h|own[i] = sum[i / 2 % 2][i / 4 * 2 + i % 2]|own[i] = sum[i / 4][i % 4]
backend/cuda/fused/row_wide.h|CM_ROW_ACROSS ? at * row + output|CM_ROW_ACROSS ? output * row + at
backend/cuda/fused/row_wide.h|apart = lie == CM_ROW_ACROSS ? row : 1|apart = 1
backend/cuda/fused/row_wide.h|cm_four_at(first + 4 * half)|cm_four_at(first)
backend/cuda/fused/row_wide.h|own[4 * half + i] = four.v[i]|own[4 * half + i] = four.v[0]
backend/cuda/fused/row_wide.h|at + i < k ? first[i * apart] : 0.0f|at + i < k ? first[0] : 0.0f
backend/cuda/fused/row_wide.h|cm_row_known(o + l->g + 8 * j, n)|cm_row_known(o + l->g, n)
backend/cuda/fused/row_wide.h|p == 0 ? l->low : l->high|l->low
backend/cuda/fused/row_wide.h|at + 4 * half, k)|at, k)
backend/cuda/fused/row_wide.h|own->v[0][c + 1], own->v[1][c + 1]|own->v[0][c], own->v[1][c + 1]
backend/cuda/fused/row_wide.h|{x.v[2 * i], x.v[2 * i + 1]}|{x.v[0], x.v[2 * i + 1]}
backend/cuda/fused/row_wide.h|sum[p].sum[i] += chunk[i]|sum[p].sum[i] = chunk[i]
backend/cuda/fused/row_wide.h|from = CM_EIGHT * l->q|from = 4 * l->q
backend/cuda/fused/row_wide.h|(chunk < whole ? chunk : 0) + from|from
backend/cuda/fused/row_wide.h|if (first + i * CM_ROW_CHUNK < whole)|if (first + i * CM_ROW_CHUNK <= whole)
backend/cuda/fused/row_wide.h|if (whole == k) return;|if (whole == k || whole > 0) return;
backend/cuda/fused/row_wide.h|o, n, whole + from, k);|o, n, from, k);
backend/cuda/fused/row_wide.h|&rest, whole + from, k, parts|&rest, whole + from, CM_ROW_ANY, parts
backend/cuda/fused/row_wide.h|cm_row_add_wide(s, l, lie, o, 2, sum)|cm_row_add_wide(s, l, lie, o, 1, sum)
backend/cuda/fused/row_wide.h|of->sum[i % 4] +|of->sum[i % 2] +
backend/cuda/fused/row_product.h|at = chunk < whole ? chunk : 0|at = first
backend/cuda/fused/row_product.h|if (whole + 8 * l->q < l->weight.row)|if (whole + 8 * l->q + 8 < l->weight.row)
backend/cuda/fused/row_product.h|b[1] = cm_pairs_at(high + whole)|b[1] = cm_pairs_at(high)
backend/cuda/fused/row_product.h|if (whole == k) return;|if (whole == k || whole > 0) return;
backend/cuda/fused/row_product.h|cm_row_multiply(l, whole + 8 * l->q, k, b, sum)|cm_row_multiply(l, whole + 8 * l->q, CM_ROW_ANY, b, sum)
backend/cuda/fused/row_product.h|o + product * 8 + column|o + product * 8 + l->q
backend/cuda/fused/row_product.h|o + 2 * column + product|o + column + 8 * product
backend/cuda/fused/row_product.h|two[i][2 * p + 1] << 16|two[i][2 * p] << 16
backend/cuda/fused/row_product.h|two[i][2 * p] >> 16|two[i][2 * p]
backend/cuda/fused/row_product.h|first + i * CM_ROW_CHUNK + 8 * l->q + r|first + i * CM_ROW_CHUNK + 4 * l->q + r
backend/cuda/fused/row_product.h|row < rows ? *(const uint32_t|row < rows - 1 ? *(const uint32_t
backend/cuda/fused/row_product.h|const int column = o + 2 * l->g|const int column = o + l->g
backend/cuda/fused/row_product.h|k.add = s->add|k.add = false
backend/cuda/fused/row_product.h|if (at.row < t->rows && at.column < n) cm_dense_put|if (at.column < n) cm_dense_put
backend/cuda/fused/row_product.h|row < t->rows ? row : t->rows - 1|0
backend/cuda/fused/row_product.h|cm_row_read(l->low, at + 4 * half, k)|cm_row_read(l->low, at, k)
backend/cuda/fused/row_product.h|b[j].pair + 2 * half|b[j].pair
backend/cuda/fused/row_step.h|((int64_t)t->first + row)|row
backend/cuda/fused/row_step.h|if (p->stride == 0) rows.data = NULL;|
backend/cuda/fused/row_product.h|s->index ? s->index + t->first|s->index ? s->index
backend/cuda/fused/row_kernel.h|known ? cm_row(&k.x, index)|known ? cm_row(&k.x, 0)
backend/cuda/fused/row_kernel.h|own[j] = x ? x[cm_few_at(i, j, n, lanes)]|own[j] = x ? x[i]
backend/cuda/fused/row_kernel.h|k.index = s->index + t->first + row|k.index = s->index + t->first
backend/cuda/fused/row_product.h|s->activation == CM_ACT_RELU ? CM_ACT_RELU : CM_ACT_NONE|CM_ACT_NONE
backend/cuda/fused/row_product.h|k.encoding = (cm_encoding)s->encoding|k.encoding = CM_ENCODE_ONEHOT
backend/cuda/fused/row_kernel.h|k.groups = s->k;|k.groups = 1;
backend/cuda/fused/row_kernel.h|k.residual = cm_row_rows(t, &s->z, row)|k.residual = cm_row_rows(t, &s->x, row)
backend/cuda/fused/row_kernel.h|cm_batch_norm_apply, &k, s->n * s->k, lanes|cm_batch_norm_apply, &k, s->n, lanes
backend/cuda/fused/row_kernel.h|k.y.stride = k.x.stride = k.residual|k.x.stride = k.residual
backend/cuda/fused/row_kernel.h|s->op == CM_OP_scatter_rows ? any_y : cm_row_rows|cm_row_rows
backend/cuda/fused/row_kernel.h|element += (lanes)->count|element += 2 * (lanes)->count
backend/cuda/fused/row_kernel.h|run < s->k; run++|run + 1 < s->k; run++
backend/cuda/fused/row_kernel.h|row = lanes->index / part.count|row = lanes->index % CM_ROW_TILE
backend/cuda/fused/row_kernel.h|t.rows = cm_least(a->rows - t.first, a->tile)|t.rows = a->tile
backend/cuda/fused/row_kernel.h|if (i > 0) cm_lanes_sync(&block);|
backend/cuda/fused/row_kernel.h|rows.data += ((int64_t)t->first + row) * copy->stride|rows.data += row * copy->stride
backend/cuda/fused/row_kernel.h|cm_widen(from.data[i], from.type)|cm_widen(from.data[i], CM_F16)
backend/cuda/fused/row_kernel.h|k.half_x = cm_row_half(s, t, &s->half_x, row)|k.half_x = cm_row_half(s, t, &s->half, row)
backend/cuda/fused/row_kernel.h|k.scale = s->number|k.scale = 1.0f
backend/cuda/fused/row_kernel.h|k.c = cm_row_rows(t, &s->w, row)|k.c = cm_row_rows(t, &s->z, row)
backend/cuda/fused/row_kernel.h|k.activation = (cm_activation)s->activation;\n    k.add = s->add;|k.activation = (cm_activation)s->activation;
backend/cuda/fused/row_kernel.h|k.n = s->n;\n    k.add = s->add;\n    for (int group|k.n = s->n;\n    for (int group
backend/cuda/fused/row_kernel.h|if (!also) return;\n    cm_lanes_sync(lanes);|if (!also) return;
backend/cuda/fused/row_kernel.h|CM_EACH(i, lanes, s->n * s->k) also|CM_EACH(i, lanes, s->n) also
backend/cuda/fused/row_kernel.h|also[i] = y[i]|also[i] = 0.0f
backend/cuda/ops/lstm.h|k->bias_ih[g * H + j] + k->bias_hh|k->bias_ih[g * H + j] - k->bias_hh
backend/cuda/ops/lstm.h|k->reset ? 0.0f : k->c[item]|k->c[item]
backend/cuda/ops/lstm.h|k->dh[item] + k->dy[item]|k->dy[item]
backend/cuda/ops/lstm.h|k->y[item - size]|k->y[item]
backend/cuda/ops/prefix.h|k->prefix[at.row] - before[0]|k->prefix[at.row]
backend/cuda/ops/prefix.h|steps < (float)k->horizon|steps <= (float)k->horizon
backend/cuda/ops/sampled.h|memory[k->draws + i] = seed[i]|memory[k->draws + i] = seed[0]
backend/cuda/ops/sampled.h|choice < k->draws ?|choice + 1 < k->draws ?
backend/cuda/ops/sampled.h|(int32_t)memory[choice]|(int32_t)memory[0]
backend/cuda/ops/sampled.h|cm_sampling_below(memory + k->draws, choice,|cm_sampling_below(memory + k->draws, 0,
backend/cuda/ops/sampled.h|seed, k->draws, memory,|seed, k->draws - 1, memory,
backend/cuda/ops/sampled.h|k->action[at.row], column|k->action[0], column
backend/cuda/ops/sampled.h|== column % n|== column % k->form.numbers
backend/cuda/ops/sampled.h|k->scaled ? cm_policy_scaled_size(k->form) :|k->scaled ? k->form.numbers :
backend/cuda/ops/sampled.h|cm_policy_scaled(k->form, action, column)|cm_policy_scaled(k->form, action, 0)
mcts/cuda/tree.h|tree.scratch += (size_t)b * k->scratch_step|tree.scratch += 0
mcts/cuda/tree.h|cm_tree_node(tree, b, CM_ROOT)->visits|cm_tree_node(tree, b, CM_ROOT)->visits + 1
mcts/cuda/tree.h|if (slot >= tree->slots) return;|if (slot + 1 >= tree->slots) return;
mcts/cuda/tree.h|int32_t parent = (int32_t)cm_tree_index(tree, b,|int32_t parent = (int32_t)cm_tree_index(tree, 0,
mcts/cuda/tree.h|int32_t child = (int32_t)cm_tree_index(tree, b,|int32_t child = (int32_t)cm_tree_index(tree, 0,
mcts/cuda/tree.h|m->actions[b] = action|m->actions[b] = 0
mcts/cuda/tree.h|m->after_actions[b] = action|m->after_actions[b] = 0
mcts/cuda/tree.h|tree->num_chance > 0 && !cm_tree_is_chance|tree->num_chance > 0 && cm_tree_is_chance
mcts/cuda/tree.h|decides ? all : m->discount + b|decides ? none : m->discount + b
mcts/cuda/tree.h|decides ? m->num_chance : m->num_actions|m->num_actions
mcts/cuda/tree.h|k->request->has_legal ? k->legal + first|k->request->has_legal ? k->legal
mcts/cuda/tree.h|k->request->has_legal ?|!k->request->has_legal ?
mcts/cuda/tree.h|k->request->has_noise ? k->noise + first|k->request->has_noise ? k->noise
mcts/cuda/tree.h|k->model.root_logits + first|k->model.root_logits
mcts/cuda/tree.h|is_used[slot] = 0|is_used[slot] = 1
mcts/cuda/tree.h|k->model.root_value[b]|k->model.root_value[0]
mcts/cuda/tree.h|finite ? CM_TREE_ERROR_NONE : CM_TREE_ERROR_ROOT|CM_TREE_ERROR_NONE
mcts/cuda/tree.h|none : m->reward + b|none : m->discount + b
mcts/cuda/tree.h|cm_leaf leaf = k->leaf[b];|cm_leaf leaf = k->leaf[0];
mcts/cuda/tree.h|m->value) + b;|m->value) + 0;
mcts/cuda/tree.h|if (finite && isfinite(g))|if (isfinite(g))
mcts/cuda/tree.h|if (lanes_leads(tree)) cm_summary_values|if (!lanes_leads(tree)) cm_summary_values
mcts/cuda/tree.h|cm_tree_entries(tree, &root)) cm_summary_edge|1) cm_summary_edge
mcts/cuda/tree.h|cm_exp(from[a] - top) * factor|cm_exp(from[a] - top)
mcts/cuda/tree.h|terms->legal[a] ? logits[a] - most|terms->legal[a] ? logits[a]
mcts/cuda/tree.h|cm_policy_perturbed(logits[a], most,|cm_policy_perturbed(logits[a], 0.0f,
mcts/cuda/tree.h|(int)cm_lanes_sum(lanes, valid)|32 * valid
mcts/cuda/tree.h|if (lanes_leads(tree)) tree->root_valid[b] = valid|if (!lanes_leads(tree)) tree->root_valid[b] = valid - 1
mcts/cuda/tree.h|said->discount = *row->discount|said->discount = 1.0f
mcts/cuda/tree.h|case 3: cm_tree_grow_3|case 3: cm_tree_grow_4
mcts/copy.h|copy->node = *from->node;|copy->node = *from->node, copy->node.share = 1.0f;
mcts/copy.h|entry.q = a == at|entry.q = a != at
mcts/copy.h|entry.leaf = a == at|entry.leaf = a != at
mcts/copy.h|    to.node->share = view->node->share;|
mcts/copy.h|    *to.cold = *view->cold;|
mcts/copy.h|if (cm_copy_has_logits(tree)) to.logit[a]|if (!cm_copy_has_logits(tree)) to.logit[a]
mcts/step_impl.inc|        lanes_sync(tree);\n        if (lanes_leads(tree)) {\n            cm_backup_node|        if (lanes_leads(tree)) {\n            cm_backup_node
mcts/step_impl.inc|leaf = a == at ? here : leaf|leaf = here
mcts/step_impl.inc|if (!is_new) view->node->prior = old->prior;|
mcts/lanes_warp.inc|    *copy = *ahead;|
mcts/step_impl.inc|if (lanes_leads(tree)) write_leaf_node|write_leaf_node
mcts/step_impl.inc|    if (lanes_leads(tree)) {\n        move_action|    {\n        move_action
mcts/step_impl.inc|    lanes_sync(tree);\n    if (!tree->is_dense) renew_open|    if (!tree->is_dense) renew_open
mcts/step_impl.inc|        if (lanes_leads(tree)) {\n            cm_backup_node|        {\n            cm_backup_node
mcts/step_impl.inc|    lanes_sync(tree);\n    if (is_chance)|    if (is_chance)
mcts/step_impl.inc|if (lanes_leads(tree)) cold->open_mass = mass|
mcts/lanes_warp.inc|lanes_clear(const cm_tree *tree, void *words, size_t n) {|lanes_clear(const cm_tree *tree, void *words, size_t n) { n--;
mcts/lanes_warp.inc|(lanes)->index % CM_LANES|(lanes)->index
mcts/lanes_warp.inc|i += CM_LANES|i += CM_WARP
mcts/lanes_warp.inc|{-x[i], i}|{x[i], i}
mcts/lanes_warp.inc|{-x[i], i}|{-x[i], -i}
mcts/lanes_warp.inc|most.value = -INFINITY, most.at = CM_NONE;|;
mcts/lanes_warp.inc|part += cm_exp(x[i] - top)|part += cm_exp(x[i])
mcts/lanes_warp.inc|    }\n    lanes_sync(tree);\n}|    }\n}
mcts/lanes_warp.inc|a < width && logits[a] > -FLT_MAX|logits[a] > -FLT_MAX
mcts/lanes_warp.inc|a < width && logits[a] > -FLT_MAX|a < width
mcts/lanes_warp.inc|cm_exp(logits[a] - top) * factor|cm_exp(logits[a] - top)
mcts/lanes_warp.inc|if (lanes_leads(tree)) cold->top = top, cold->factor = factor|if (lanes_leads(tree)) cold->top = top, cold->factor = sum
mcts/lanes_warp.inc|{-mine.score, mine.action}|{mine.score, mine.action}
mcts/lanes_warp.inc|mine.action == least.at ? (float)mine.entry : 0.0f|(float)mine.entry
mcts/lanes_warp.inc|*low = -cm_lanes_max(tree->lanes, -*low);|*low = cm_lanes_max(tree->lanes, *low);
mcts/lanes_warp.inc|*high = cm_lanes_max(tree->lanes, *high);|
mcts/lanes_warp.inc|float low = view->node->value, high = low|float low = 0.0f, high = low
mcts/lanes_warp.inc|(float)(view->node->visits - 1)|(float)view->node->visits
mcts/lanes_warp.inc|cm_max(FLT_MIN, *cm_view_prior(view, i))|1.0f
mcts/lanes_warp.inc|weight * *cm_view_q(view, i)|*cm_view_q(view, i)
mcts/lanes_warp.inc|< tree->num_actions ? fill : *cm_view_q(view, 0)|< tree->num_actions ? *cm_view_q(view, 0) : fill
mcts/lanes_warp.inc|most = cm_max(most, (float)view->visits[i])|most = (float)view->visits[i]
mcts/lanes_warp.inc|, cm_lanes_max(tree->lanes, most)|, most
mcts/lanes_warp.inc|explore, lanes->index, lanes->count|explore, 0, lanes->count
mcts/lanes_warp.inc|cm_affine_open(map) + explore * open_prior|explore * open_prior
mcts/lanes_warp.inc|cm_select_score(0.0f, open_prior|cm_select_score(range.low, open_prior
mcts/lanes_warp.inc|has_open ? cm_max(-FLT_MAX, open) : -FLT_MAX|-FLT_MAX
mcts/lanes_warp.inc|    most = cm_lanes_max(lanes, most);\n    float part|    float part
mcts/lanes_warp.inc|+ open * cold->open_mass|+ open
mcts/lanes_warp.inc|* total - (float)view->visits[i] * visit|* total
mcts/lanes_warp.inc|open * total).entry|open).entry
mcts/lanes_warp.inc|    lanes_sync(tree);\n    return lanes_gumbel_interior|    return lanes_gumbel_interior
mcts/lanes_warp.inc|visits[a] == considered && logits[a] > -FLT_MAX|visits[a] == considered
mcts/lanes_warp.inc|visits[a] == considered && logits[a] > -FLT_MAX|logits[a] > -FLT_MAX
mcts/lanes_warp.inc|{-cm_select_gumbel_score(|{cm_select_gumbel_score(
agent/cuda/simulations.h|first + lanes->index / each|first + lanes->index / each + 1
agent/cuda/simulations.h|root += CM_BLOCK / each|root += CM_BLOCK
agent/cuda/simulations.h|root < k->trees.tree.batch|root + 1 < k->trees.tree.batch
agent/cuda/simulations.h|i < k->count|i + 1 < k->count
agent/cuda/simulations.h|k->has_afterstate ? 2 : 1|k->has_afterstate ? 1 : 2
agent/cuda/simulations.h|&k->afterstate, item, lanes);\n            cm_lanes_sync(lanes);|&k->afterstate, item, lanes);
agent/cuda/simulations.h|root, &part);\n    cm_lanes_sync(lanes);|root, &part);
agent/cuda/simulations.h|if (k->has_afterstate) cm_row_keep_all|if (!k->has_afterstate) cm_row_keep_all
backend/cuda/fused/row_shared.h|weight.row = s->of.dense.shared_row|weight.row = s->of.dense.weight_row
backend/cuda/fused/row_shared.h|wide ? columns : there / 2|wide ? columns - 1 : there / 2
backend/cuda/fused/row_shared.h|wide ? here : here / 2|wide ? here : here / 4
backend/cuda/fused/row_shared.h|wide ? there : there / 2, wide|wide ? here : there / 2, wide
backend/cuda/fused/row_shared.h|first += CM_ROW_WARPS * AT_ONCE|first += 2 * CM_ROW_WARPS * AT_ONCE
backend/cuda/fused/row_shared.h|row < rows && at < words.used|row + 1 < rows && at < words.used
backend/cuda/fused/row_shared.h|if (first + i * CM_ROW_WARPS < rows) to|if (first + i * CM_ROW_WARPS < s->n) to
backend/cuda/fused/row_shared.h|output >= s->of.dense.shared_rows|output > s->of.dense.shared_rows
backend/cuda/fused/row_shared.h|at < words.used ?|true ?
backend/cuda/fused/row_shared.h|to[(first + i * CM_ROW_WARPS) * words.kept + at]|to[(first + i * CM_ROW_WARPS) * words.apart + at]
backend/cuda/fused/row_shared.h|memory + s->of.dense.shared), own|memory + s->of.dense.shared + 4), own
backend/cuda/fused/row_shared.h|int i = 0; i < a->steps|int i = 4; i < a->steps
backend/cuda/fused/tower.h|(tile * CM_TOWER_GROUPS + t->group) * CM_SLAB_ROWS + t->low|(tile + t->group) * CM_SLAB_ROWS + t->low
backend/cuda/fused/tower.h|t->low + 8 * half|t->low + 4 * half
backend/cuda/fused/tower.h|x >= a->width|x > a->width
backend/cuda/fused/tower.h|board >= t->boards|board > t->boards
backend/cuda/fused/tower.h|(int64_t)(t->first + board) * a->height|(int64_t)board * a->height
backend/cuda/fused/tower.h|t.boards = a->boards - t.first < a->share ? a->boards - t.first : a->share|t.boards = a->share
backend/cuda/fused/tower.h|CM_EACH(i, lanes, 2 * pieces * t->at.pitch|CM_EACH(i, lanes, pieces * t->at.pitch
backend/cuda/fused/tower.h|[i] = none;\n    cm_lanes_sync(lanes);|[i] = none;
backend/cuda/fused/tower.h|t.begin = (int)(item % CM_TOWER_WINDOW)|t.begin = (int)item
backend/cuda/fused/tower.h|board * t->at.row + cell % a->width|board * a->width + cell % a->width
backend/cuda/fused/tower.h|i < 2 ? &low : &high|i < 1 ? &low : &high
backend/cuda/fused/tower.h|four->v[i % 2 * 2 + 1]|four->v[i % 2 + 1]
backend/cuda/fused/tower.h|i += FEW * CM_BLOCK|i += (FEW + 1) * CM_BLOCK
backend/cuda/fused/tower.h|if (at < count) *cm_tower_place_of|*cm_tower_place_of
backend/cuda/fused/tower.h|(first + at) * CM_SLAB_PIECE, bfloat|at * CM_SLAB_PIECE, bfloat
backend/cuda/fused/tower.h|part % CM_TOWER_STAGES : number % CM_TOWER_STAGES|part % CM_TOWER_STAGES : number % (CM_TOWER_STAGES / 2)
backend/cuda/fused/tower.h|cm_tower_parts(channels) % CM_TOWER_STAGES == 0 ?|true ?
backend/cuda/fused/tower.h|output * CM_TOWER_WINDOW * channels + column|output * channels + column
backend/cuda/fused/tower.h|column * channels + output * CM_SLAB_PIECE|column * CM_SLAB_PIECE + output * CM_SLAB_PIECE
backend/cuda/fused/tower.h|(pair / outputs * 2 + lanes->index % 2)|(pair / outputs + lanes->index % 2)
backend/cuda/fused/tower.h|weight + t->begin * channels +|weight +
backend/cuda/fused/tower.h|stage % CM_TOWER_GROUPS == t->group|stage % CM_TOWER_GROUPS == t->group + 1
backend/cuda/fused/tower.h|to + cm_tower_in_stage(output, column|to + cm_tower_in_stage(output, 0
backend/cuda/fused/tower.h|f->from + cm_tower_on_device(output, column|f->from + cm_tower_on_device(0, column
backend/cuda/fused/tower.h|column = i / turns * columns|column = i * columns
backend/cuda/fused/tower.h|(CM_TOWER_WINDOW - t->begin) * cm_tower_parts(channels)|(CM_TOWER_WINDOW - t->begin)
backend/cuda/fused/tower.h|f->from -= CM_TOWER_WINDOW * channels|f->from -= (CM_TOWER_WINDOW - 1) * channels
backend/cuda/fused/tower.h|    f->layer++;\n|
backend/cuda/fused/tower.h|shift - mean * factor|shift + mean * factor
backend/cuda/fused/tower.h|dy < 0 ? last >= t->at.band|dy < 0 ? last > t->at.band
backend/cuda/fused/tower.h|dy < 0 ? last >= t->at.band|dy < 0 ? true
backend/cuda/fused/tower.h|first < (t->args->height - 1) * t->at.band|first <= (t->args->height - 1) * t->at.band
backend/cuda/fused/tower.h|first < (t->args->height - 1) * t->at.band|last < (t->args->height - 1) * t->at.band
backend/cuda/fused/tower.h|dx = window % 3 - 1|dx = 1 - window % 3
backend/cuda/fused/tower.h|+ dy * t->at.band + dx|+ dy * t->at.row + dx
backend/cuda/fused/tower.h|set.column = part * depth|set.column = 0
backend/cuda/fused/tower.h|set.apart = CM_TOWER_GROUPS * CM_SLAB_ROWS|set.apart = CM_SLAB_ROWS
backend/cuda/fused/tower.h|dy < 0 ? t->sees[0] : dy == 0 ? t->sees[1] : t->sees[2]|t->sees[1]
backend/cuda/fused/tower.h|window + 1 < CM_TOWER_WINDOW ?|window + 1 <= CM_TOWER_WINDOW ?
backend/cuda/fused/tower.h|window + 1 < CM_TOWER_WINDOW ?|window + 2 < CM_TOWER_WINDOW ?
backend/cuda/fused/tower.h|old >> 16 * i|old >> 8 * i
backend/cuda/fused/tower.h|layer->relu ? 0.0f : -INFINITY|0.0f
backend/cuda/fused/tower.h|value <= bound ? bound : value|value > bound ? value : bound
backend/cuda/fused/tower.h|cm_tower_two_at(norm + channels), {0}}|cm_tower_two_at(norm), {0}}
backend/cuda/fused/tower.h|adds && cm_tower_has(t, i)) terms.old|cm_tower_has(t, i)) terms.old
backend/cuda/fused/tower.h|next = cm_tower_terms_of(t, j + 1|next = cm_tower_terms_of(t, j
backend/cuda/fused/tower.h|if (!cm_tower_has(t, i)) continue;|
backend/cuda/fused/tower.h|cm_tower_bound(layer), true, channels|cm_tower_bound(layer), false, channels
backend/cuda/fused/tower.h|if (cm_tower_has(t, i)) to[|to[
backend/cuda/fused/tower.h|i % 2 * 8) * CM_SLAB_PIECE / 2|i % 2 * 4) * CM_SLAB_PIECE / 2
backend/cuda/fused/tower.h|old = adds ? cm_tower_old|old = false ? cm_tower_old
backend/cuda/fused/tower.h|    cm_lanes_sync(lanes);\n    cm_slabs_multiply|    cm_slabs_multiply
backend/cuda/fused/tower.h|    cm_lanes_sync(lanes);\n    cm_slabs_multiply|    if (begins) cm_tower_norm(t, layer, channels, lanes);\n    cm_lanes_sync(lanes);\n    cm_slabs_multiply
backend/cuda/fused/tower.h|part == 0 && f->part == CM_TOWER_AHEAD|part == 0 && f->part == CM_TOWER_AHEAD + 1
backend/cuda/fused/tower.h|(stage + CM_TOWER_AHEAD) % CM_TOWER_STAGES|(stage + CM_TOWER_AHEAD + 1) % CM_TOWER_STAGES
backend/cuda/fused/tower.h|f->number - CM_TOWER_AHEAD, part|f->number - CM_TOWER_AHEAD + 1, part
backend/cuda/fused/tower.h|i < CM_TOWER_AHEAD; i++|i + 1 < CM_TOWER_AHEAD; i++
backend/cuda/fused/tower.h|t.from = t.to, t.to = from|t.to = from
backend/cuda/fused/tower_args.h|p.row = a->width + 1|p.row = a->width
backend/cuda/fused/tower_args.h|a->height * p.band + CM_SLAB_ROWS - 1|a->height * p.band
backend/cuda/fused/tower_args.h|1 + (p.band % CM_SLAB_ROWS ? p.band : 0)|1
backend/cuda/fused/tower_args.h|1 + (p.band % CM_SLAB_ROWS ? p.band : 0)|(p.band % CM_SLAB_ROWS ? p.band : 0)
backend/cuda/fused/tower_args.h|+ 2 * p.lead|+ p.lead
backend/cuda/fused/tower_args.h|{ return 4 * channels; }|{ return 2 * channels; }
backend/cuda/fused/tower_args.h|CM_TOWER_STAGES * channels * cm_tower_depth|(CM_TOWER_STAGES - 1) * channels * cm_tower_depth
backend/cuda/fused/tower_build.c|at + cm_tensor_bytes(t) <= first|at <= first
backend/cuda/fused/tower_build.c|weight->dim[0] == weight->dim[3] && cm_alignment_gap(x->data) == 0|weight->dim[0] == weight->dim[3]
backend/cuda/fused/tower_build.c|weight->dim[0] == weight->dim[3] && cm_alignment_gap|cm_alignment_gap
backend/cuda/fused/tower_build.c|cm_alignment_gap(CM_ARG(call, conv2d_norm, y)->data) == 0|true
backend/cuda/fused/tower_build.c|!CM_ARG(call, conv2d_norm, residual)->data && lies_in|lies_in
backend/cuda/fused/tower_build.c|residual->data == CM_ARG(before, conv2d_norm, x)->data|true
backend/cuda/fused/tower_build.c|i >= end|i > end
backend/cuda/fused/tower_build.c|i + 1 < end && is_seen|is_seen
backend/cuda/fused/tower_build.c|end - first < CM_TOWER_LAYERS|end - first <= CM_TOWER_LAYERS
backend/cuda/fused/tower_build.c|tiles <= CM_TOWER_TILES|tiles < CM_TOWER_TILES
backend/cuda/fused/tower_build.c|<= limits->block_bytes|< limits->block_bytes
backend/cuda/fused/tower_build.c|(cm_tower_places_of(args).tiles + 1)|cm_tower_places_of(args).tiles
backend/cuda/fused/tower_build.c|cost_of(args, limits) > least|cost_of(args, limits) >= least
backend/cuda/fused/tower_build.c|(args->boards + args->share - 1) / args->share|args->boards / args->share
device/cuda/slabs.h|row * CM_SLAB_PIECE|row * CM_SLAB_PIECE / 2
device/cuda/slabs.h|CM_SLAB_GROUP / CM_WARP * 16 + g|CM_SLAB_GROUP / CM_WARP * 8 + g
device/cuda/slabs.h|i % 2 * 8 * CM_SLAB_PIECE + i / 2 * set->a.pitch|i / 2 * 8 * CM_SLAB_PIECE + i % 2 * set->a.pitch
device/cuda/slabs.h|t * set->apart + row|row
device/cuda/slabs.h|cm_slab_pair(from + set->b.pitch)|cm_slab_pair(from)
device/cuda/slabs.h|if (set->tiles >> t & 1u) cm_lanes_product|if (set->tiles & 1u) cm_lanes_product
device/cuda/slabs.h|k * CM_SLAB_DEPTH / CM_SLAB_PIECE, sum|k, sum
backend/cuda/fused/norm_block.h|>> i % 2 * 16|>> i % 2 * 8
backend/cuda/fused/norm_block.h|(const float *)from + at|(const float *)from
backend/cuda/fused/norm_block.h|(const uint16_t *)from + at|(const uint16_t *)from
backend/cuda/fused/norm_conv.h|a->linear + channel, factor|a->linear, factor
backend/cuda/fused/norm_conv.h|a->linear + channels + channel, offset|a->linear + channel, offset
backend/cuda/fused/norm_conv.h|factor[i] + offset[i] + residual[i]|factor[i] + offset[i] - residual[i]
backend/cuda/fused/norm_conv.h|a->relu && value[i] <= 0.0f|a->relu && value[i] <= -1.0f
backend/cuda/fused/norm_conv.h|a->relu && value[i]|value[i]
backend/cuda/fused/norm_conv.h|(const uint16_t *)a->tower.x + at|(const uint16_t *)a->tower.x
backend/cuda/fused/norm_conv.h|i += FEW * CM_BLOCK|i += (FEW + 1) * CM_BLOCK
backend/cuda/fused/norm_conv.h|piece * CM_SLAB_PIECE, channels, residual|piece, channels, residual
backend/cuda/fused/norm_conv.h|residual[k], bfloat);\n            *cm|residual[0], bfloat);\n            *cm
backend/cuda/fused/norm_conv.h|a->normed + (first + at) * CM_SLAB_PIECE|a->normed + at * CM_SLAB_PIECE
backend/cuda/fused/norm_conv.h|if (at >= count) continue;|
backend/cuda/fused/norm_block.h|4 * j + i % 2 * 2|4 * j
backend/cuda/fused/norm_block.h|if (!cm_tower_has(t, i)) continue;|
backend/cuda/fused/norm_block.h|t->boards * t->args->height|t->args->share * t->args->height
backend/cuda/fused/norm_block.h|memory[lane->cell * channels + lane->piece * CM_SLAB_PIECE + i]|memory[lane->cell * channels + lane->piece + i]
backend/cuda/fused/norm_block.h|r < lane->step; r++|r + 1 < lane->step; r++
backend/cuda/fused/norm_block.h|    cm_lanes_sync(lanes);\n    if (lanes->index < channels)\n|    if (lanes->index < channels)\n
backend/cuda/fused/norm_conv.h|y[(first + cell) * pieces + lane->piece]|y[(first + cell) * pieces]
backend/cuda/fused/norm_conv.h|y[(first + cell)|y[(cell)
backend/cuda/fused/norm_conv.h|sum[i] += number[i]|sum[i] += 1.0f
backend/cuda/fused/norm_conv.h|number[i] - mean[lane->piece * CM_SLAB_PIECE + i]|number[i] - mean[i]
backend/cuda/fused/norm_conv.h|squares[i] += off * off|squares[i] += off
backend/cuda/fused/norm_conv.h|item * 2 * channels|item * channels
backend/cuda/fused/norm_conv.h|if (!a->partial) return;|
backend/cuda/fused/norm_conv.h|/ (float)lane.cells;|/ (float)lane.step;
backend/cuda/fused/norm_conv.h|mean[lanes->index] = partial[0] = of_cells;\n    cm_lanes_sync(lanes);|mean[lanes->index] = partial[0] = of_cells;
backend/cuda/fused/norm_conv.h|partial[channels] = squares|partial[0] = squares
backend/cuda/ops/rows.h|i < CM_FOUR ? low.v[i % CM_FOUR] : high.v[i % CM_FOUR]|low.v[i % CM_FOUR]
backend/cuda/fused/norm_conv.h|cm_lanes_sync(lanes); /* all sums|/* all sums
backend/cuda/fused/norm_convs_forward.c|call->attr.compute == made->dtype|true
backend/cuda/fused/norm_convs_forward.c|cm_norm_is_same(CM_ARG(call, conv2d, x), made)|true
backend/cuda/fused/norm_convs_forward.c|cm_norm_is_same(CM_ARG(call, batch_norm, x), CM_ARG(convolution, conv2d, y))|true
backend/cuda/fused/norm_convs.c|&& cm_tensor_same_shape(a, b)|
backend/cuda/fused/norm_convs_forward.c|call->attr.stride == 1|true
backend/cuda/fused/norm_convs_forward.c|call->attr.accumulate == 0|true
backend/cuda/fused/norm_convs_forward.c|!CM_ARG(call, conv2d, bias)->data|true
backend/cuda/fused/norm_convs.c|weight->dim[0] == weight->dim[3]|true
backend/cuda/fused/norm_convs_forward.c|!cm_tensor_overlaps(y, made)|true
backend/cuda/fused/norm_convs_forward.c|!cm_tensor_overlaps(y, read)|true
backend/cuda/fused/norm_convs_forward.c|!cm_tensor_overlaps(y, residual)|true
backend/cuda/fused/norm_convs.c|return links > 1 ? reach|return links > 0 ? reach
backend/cuda/fused/norm_convs.c|c->tower.share * c->tower.height * c->tower.width|c->tower.height * c->tower.width
backend/cuda/fused/norm_convs_forward.c|i > 0, &norm|true, &norm
backend/cuda/fused/norm_convs_forward.c|i + 2 < links ? m.partial|i + 4 < links ? m.partial
backend/cuda/fused/norm_convs_forward.c|if (i + 1 == links) return cm_batch_norm_half_apply(stream, call, &norm)|if (i + 1 == links) return CM_OK
backend/cuda/fused/norm_convs_forward.c|.relu = norm->activation == CM_ACT_RELU|.relu = true
backend/cuda/fused/norm_convs_forward.c|args.wide_residual = args.residual != NULL|args.wide_residual = false
backend/cuda/fused/norm_convs.c|if (!pass->is_idle) return CM_OK;|
backend/cuda/fused/norm_convs.c|*is_faster = winner == 1|*is_faster = true
backend/cuda/fused/norm_convs.c|*out = *out && agrees(t)|*out = *out
backend/cuda/fused/norm_convs.c|limits.multiplies_16_bits &&|
backend/cuda/fused/norm_block.h|two[k] += cm_widen|two[k] -= cm_widen
backend/cuda/fused/norm_block.h|(uint16_t)(old >> 16 * k)|(uint16_t)old
backend/cuda/fused/norm_block.h|((float *)to)[at + i]|((float *)to)[i]
backend/cuda/fused/norm_block.h|((uint16_t *)to + at)|((uint16_t *)to)
backend/cuda/ops/rows.h|relu && !(y > 0.0f)|relu && !(y > -1.0f)
backend/cuda/ops/rows.h|return relu && !(y > 0.0f)|return !(y > 0.0f)
backend/cuda/fused/norm_grad.h|if (a->add_residual) cm_norm|cm_norm
backend/cuda/fused/norm_grad.h|if (a->add_residual) cm|if (false) cm
backend/cuda/fused/norm_grad.h|sum[i] += g[i];|sum[i] = g[i];
backend/cuda/fused/norm_grad.h|a->linear + channel, of_g|a->linear, of_g
backend/cuda/fused/norm_grad.h|a->linear + channels + channel|a->linear + channel
backend/cuda/fused/norm_grad.h|a->linear + 2 * channels + channel|a->linear + channels + channel
backend/cuda/fused/norm_grad.h|of_x[i] * read->x[i] + offset[i]|of_x[i] * read->x[i] - offset[i]
backend/cuda/fused/norm_grad.h|of_g[i] * g[i] + (|g[i] + (
backend/cuda/fused/norm_grad.h|i += FEW * CM_BLOCK|i += (FEW + 1) * CM_BLOCK
backend/cuda/fused/norm_grad.h|if (at >= count) continue;|
backend/cuda/fused/norm_grad.h|&read[k], element, piece * CM_SLAB_PIECE|&read[0], element, piece * CM_SLAB_PIECE
backend/cuda/fused/norm_grad.h|element, piece * CM_SLAB_PIECE, channels|element, piece, channels
backend/cuda/fused/norm_grad.h|(a->normed + element)|(a->normed + at * CM_SLAB_PIECE)
backend/cuda/fused/norm_grad.h|(const uint16_t *)a->tower.y + element|(const uint16_t *)a->tower.y
backend/cuda/fused/norm_grad.h|cm_norm_block_read(a->next_x, false, at|cm_norm_block_read(a->next_y, false, at
backend/cuda/fused/norm_grad.h|relu(a->next_relu|relu(true
backend/cuda/fused/norm_grad.h|along[i] += g * (x[i] - mean[i])|along[i] += g * x[i]
backend/cuda/fused/norm_grad.h|sum[i] += g;\n|sum[i] += dy[i];\n
backend/cuda/fused/norm_grad.h|a->next_mean + lane->piece * CM_SLAB_PIECE|a->next_mean
backend/cuda/fused/norm_grad.h|(first + cell) * channels + lane|cell * channels + lane
backend/cuda/fused/norm_grad.h|if (a->add_y && a->tower.wide_y) {|if (a->tower.wide_y) {
backend/cuda/fused/norm_grad.h|dy[i] += before[i]|dy[i] = before[i]
backend/cuda/fused/norm_grad.h|cm_lanes_sync(lanes); /* all sums|/* all sums
backend/cuda/fused/norm_grad.h|cm_lanes_sync(lanes); /* and read|/* and read
backend/cuda/fused/norm_grad.h|item * 2 * channels|item * channels
backend/cuda/fused/norm_grad.h|if (!a->partial) return;|
backend/cuda/fused/norm_grad.h|partial[channels] = total_along|partial[0] = total_along
backend/cuda/fused/norm_grad.h|total_along * a->next_inverse[lanes->index]|total_along
backend/cuda/fused/norm_grad.h|cm_norm_grad_enter(a, true|cm_norm_grad_enter(a, false
backend/cuda/fused/norm_grad.h|cm_norm_grad_enter(a, false|cm_norm_grad_enter(a, true
backend/cuda/fused/norm_grad.h|a->add_y && !a->tower.wide_y, channels|false, channels
backend/cuda/fused/norm_convs_backward.c|&& dx->data && cm_norm_is_half(dx|&& cm_norm_is_half(dx
backend/cuda/fused/norm_convs_backward.c|!CM_ADDS(call, batch_norm_backward, dx) &&|
backend/cuda/fused/norm_convs_backward.c|avoids_reads(call, cm_norm_is_apart, dx) &&|
backend/cuda/fused/norm_convs_backward.c|avoids_reads(call, cm_norm_is_apart, residual) &&|
backend/cuda/fused/norm_convs_backward.c|!cm_tensor_overlaps(dx, residual) &&|
backend/cuda/fused/norm_convs_backward.c|is_readable(residual, x->dtype)|true
backend/cuda/fused/norm_convs_backward.c|call->attr.stride == 1|true
backend/cuda/fused/norm_convs_backward.c|!CM_ARG(call, conv2d_backward, dbias)->data|true
backend/cuda/fused/norm_convs_backward.c|cm_norm_is_same(CM_ARG(call, conv2d_backward, dy), made)|true
backend/cuda/fused/norm_convs_backward.c|is_readable(dx, made->dtype) &&|
backend/cuda/fused/norm_convs_backward.c|!cm_tensor_overlaps(dx, made) &&|
backend/cuda/fused/norm_convs_backward.c|avoids_reads(norm, share_nothing, dx) &&|
backend/cuda/fused/norm_convs_backward.c|cm_tensor_overlaps(written[i], x)|false
backend/cuda/fused/norm_convs_backward.c|cm_tensor_overlaps(written[i], y)|false
backend/cuda/fused/norm_convs_backward.c|i < 3; i++)\n        if (cm_tensor|i < 1; i++)\n        if (cm_tensor
backend/cuda/fused/norm_convs_backward.c|y->dtype == x->dtype && cm_norm_is_same|cm_norm_is_same
backend/cuda/fused/norm_convs_backward.c|cm_norm_is_same(CM_ARG(call, batch_norm_backward, dy), written[0])|true
backend/cuda/fused/norm_convs_backward.c|rest->t[CM_T_conv2d_backward_dx].data = NULL;|
backend/cuda/fused/norm_convs_backward.c|.wide = y->dtype == CM_F32|.wide = false
backend/cuda/fused/norm_convs_backward.c|.relu = norm->activation == CM_ACT_RELU|.relu = true
backend/cuda/fused/norm_convs_backward.c|.wide_residual = residual->dtype == CM_F32|.wide_residual = false
backend/cuda/fused/norm_convs_backward.c|.add_residual = norm->add_dresidual|.add_residual = true
backend/cuda/fused/norm_convs_backward.c|.add_y = CM_ADDS(call, conv2d_backward, dx)|.add_y = false
backend/cuda/fused/norm_convs_backward.c|args.tower.wide_y = dx->dtype == CM_F32|args.tower.wide_y = false
backend/cuda/fused/norm_convs_backward.c|next.activation == CM_ACT_RELU|true
backend/cuda/fused/norm_convs_backward.c|i > 0, &norm|true, &norm
backend/cuda/fused/norm_convs_backward.c|i + 2 < links ? m.partial|i + 4 < links ? m.partial
backend/cuda/fused/norm_convs_backward.c|+ 2 * (t->data && t->dtype == CM_F32) + 4 * adds|+ 2 * (t->data && t->dtype == CM_F32)
backend/cuda/fused/norm_convs_backward.c|return (t->data != NULL) +|return
backend/cuda/fused/norm_convs.c|rest && disturb(&link, rest)|false
backend/cuda/fused/norm_convs.c|    for (int i = 0; i < count; i++) {\n        const cm_call *rest|    for (int i = 0; i < count - 1; i++) {\n        const cm_call *rest
backend/cuda/fused/norm_convs.c|if (way->take_rest) (void)way->take_rest(&link, &memory);|
backend/cuda/fused/norm_convs.c|cm_op_tensor_written(rest->op, k)) &&|false) &&
backend/cuda/fused/norm_convs.c|status == CM_ERR_MEMORY ? CM_OK : status|status
backend/cuda/fused/norm_convs.c|if (!is_link(way, call)) return call;|
backend/cuda/fused/norm_convs.c|if ((cm_op_tensor_written(link->op, i)|if ((true
backend/cuda/ops/optimizer.h|copy->window + copy->window - 1 - turned.column|copy->window + turned.column
backend/cuda/ops/optimizer.h|cm_place of = {place.column * copy->window|cm_place of = {turned.row * copy->window
END
}

restore() {
    cp --parents src/backend/*.{h,inc,def} src/mcts/{*.inc,copy.h} src/{agent,device,mcts}/cuda/*.h \
        src/backend/cuda/{ops,fused}/*.h src/backend/cuda/fused/{tower_build,norm_convs,norm_convs_forward,norm_convs_backward}.c "$WORK"
}

is_of_towers() { [[ $1 = */tower* || $1 = */slabs.h ]]; }

compile() {
    # shellcheck disable=SC2086  # flags are a list
    "$CC" -I"$WORK/src" $FLAGS -O1 -w -Itests -c "$1" -o "$WORK/$2.o" 2>/dev/null
}

# The kernels of operations are compiled in one file, those of the tree search in another. What towers, and layers in 8 bits, are
# made of is in no other kernel.
build() {
    changed=${1:-}
    # shellcheck disable=SC2086
    if [ "$changed" = backend/cuda/ops/int8.h ]; then
        compile tests/backend/cuda/cuda_cpu.c kernels && "$CC" "$WORK/kernels.o" "$WORK/tree.o" $INT8_OBJECTS $LIBS -o "$WORK/int8"
        return
    fi
    # shellcheck disable=SC2086
    if [[ -z $changed || $changed = */norm_* || $changed = */optimizer.h ]]; then
        [[ $changed = *.c && ${2:-} = *.c ]] || compile tests/backend/cuda/cuda_cpu.c kernels || return 1
        compile "$WORK/src/backend/cuda/fused/norm_convs.c" norms &&
            compile "$WORK/src/backend/cuda/fused/norm_convs_forward.c" norms_forward &&
            compile "$WORK/src/backend/cuda/fused/norm_convs_backward.c" norms_backward || return 1
        for test in convs grads; do
            "$CC" "$WORK"/{kernels,norms,norms_forward,norms_backward}.o "$BUILD/tests/backend/cuda/fused/test_cuda_norm_$test.o" \
                $NORM_OBJECTS $LIBS -o "$WORK/norm_$test" || return 1
        done
        if [[ $changed = */norm_* ]]; then return 0; fi
    fi
    # shellcheck disable=SC2086  # objects are lists
    compile tests/backend/cuda/cuda_cpu.c kernels && compile "$WORK/src/backend/cuda/fused/tower_build.c" towers &&
        "$CC" "$WORK/kernels.o" "$WORK/towers.o" $TOWER_OBJECTS $LIBS -o "$WORK/towers" || return 1
    if is_of_towers "$changed"; then return 0; fi
    # shellcheck disable=SC2086
    compile tests/support/tree_cpu.c tree &&
        "$CC" "$WORK/kernels.o" "$WORK/tree.o" $OBJECTS $LIBS -o "$WORK/test" &&
        "$CC" "$WORK/kernels.o" "$WORK/tree.o" $HALF_OBJECTS $LIBS -o "$WORK/half" &&
        "$CC" "$WORK/kernels.o" "$WORK/tree.o" $INT8_OBJECTS $LIBS -o "$WORK/int8" &&
        "$CC" "$WORK/kernels.o" "$WORK/tree.o" $ROW_OBJECTS $LIBS -o "$WORK/rows" &&
        "$CC" "$WORK/kernels.o" "$WORK/tree.o" $SEGMENT_OBJECTS $LIBS -o "$WORK/segments" &&
        "$CC" "$WORK/tree.o" $SEARCH_OBJECTS $LIBS -o "$WORK/search" &&
        compile tests/agent/simulations_cpu.c whole &&
        "$CC" "$WORK/kernels.o" "$WORK/tree.o" "$WORK/whole.o" $SIMULATIONS_OBJECTS $LIBS -o "$WORK/simulations"
}

# Of the test only the cases that are about the file that was built last: see `families` there.
is_killed() {
    local stem case
    stem=$(basename "${changed:-all}" .h)
    if [[ $stem = all || $stem = norm_* || $stem = optimizer ]]; then
        by=cuda_norm_convs
        timeout 100 "$WORK/norm_convs" >/dev/null 2>&1 || return 0
        by=cuda_norm_grads
        timeout 100 "$WORK/norm_grads" >/dev/null 2>&1 || return 0
        if [[ $stem = norm_* ]]; then return 1; fi
    fi
    if [ "$stem" = all ] || is_of_towers "$changed"; then
        by=cuda_towers
        timeout 100 "$WORK/towers" >/dev/null 2>&1 || return 0
        if [ "$stem" != all ]; then return 1; fi
    fi
    if [[ $stem = all || ${changed:-} = mcts/* ]]; then
        by=device_search
        timeout 100 "$WORK/search" >/dev/null 2>&1 || return 0
        if [ "$stem" != all ]; then return 1; fi
    fi
    if [[ $stem = all || $stem = row_* ]]; then
        by=cuda_row_kernel
        timeout 100 "$WORK/rows" >/dev/null 2>&1 || return 0
        by=cuda_segments
        timeout 100 "$WORK/segments" >/dev/null 2>&1 || return 0
    fi
    if [[ $stem = all || $stem = row_* || ${changed:-} = agent/* ]]; then
        by=simulations
        timeout 100 "$WORK/simulations" >/dev/null 2>&1 || return 0
        if [ "$stem" != all ]; then return 1; fi
    fi
    if [[ $stem = all || $stem = batch_norm* || $stem = rows ]]; then
        by=cuda_half
        timeout 100 "$WORK/half" >/dev/null 2>&1 || return 0
        if [ "$stem" = batch_norm_half ]; then return 1; fi
    fi
    if [[ $stem = all || $stem = int8 ]]; then
        by=cuda_int8
        timeout 100 "$WORK/int8" >/dev/null 2>&1 || return 0
        if [ "$stem" != all ]; then return 1; fi
    fi
    by=cuda_ops
    case $stem in
    all | formulas | formulas.inc | lanes | rows) set -- elementwise layer_norm batch_norm minmax softmax support losses shape optimizer lstm dense ;;
    points) set -- dense ;;
    columns) set -- layer_norm batch_norm dense ;;
    *) set -- "$stem" ;;
    esac
    for case in "$@"; do
        timeout 100 env CK_RUN_CASE="$case" "$WORK/test" >/dev/null 2>&1 || return 0
    done
    return 1
}

# shellcheck disable=SC2016  # the words in backquotes are text
run_mutants "${1:-}" "${BUILD:-build}/mutants-kernels.md" '# Mutants of the GPU kernels

What `make mutants-kernels` writes: each line is one change of a sign, a bound or a count in the headers that hold the
arithmetic of the kernels, or in tower_build.c or norm_convs*.c, and the test that fails with it when they run on the CPU.
KILLED are killed, SURVIVED survive.'
