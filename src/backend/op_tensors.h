/* Positions of each operation's tensors in cm_call.t; the order is that of ops.def (a test compares them). */
#ifndef CM_BACKEND_OP_TENSORS_H
#define CM_BACKEND_OP_TENSORS_H

enum { CM_T_dense_y, CM_T_dense_x, CM_T_dense_weight, CM_T_dense_bias, CM_T_dense_action, CM_T_dense_narrow_x };
enum {
    CM_T_dense_backward_dx,
    CM_T_dense_backward_dweight,
    CM_T_dense_backward_dbias,
    CM_T_dense_backward_dy,
    CM_T_dense_backward_x,
    CM_T_dense_backward_weight,
    CM_T_dense_backward_action,
    CM_T_dense_backward_narrow_dy
};
enum { CM_T_conv2d_y, CM_T_conv2d_x, CM_T_conv2d_weight, CM_T_conv2d_bias };
enum {
    CM_T_conv2d_backward_dx,
    CM_T_conv2d_backward_dweight,
    CM_T_conv2d_backward_dbias,
    CM_T_conv2d_backward_dy,
    CM_T_conv2d_backward_x,
    CM_T_conv2d_backward_weight
};
enum {
    CM_T_conv2d_norm_y,
    CM_T_conv2d_norm_x,
    CM_T_conv2d_norm_weight,
    CM_T_conv2d_norm_scale,
    CM_T_conv2d_norm_shift,
    CM_T_conv2d_norm_mean,
    CM_T_conv2d_norm_variance,
    CM_T_conv2d_norm_residual
};
enum { CM_T_activation_y, CM_T_activation_x, CM_T_activation_narrow };
enum {
    CM_T_activation_backward_dx,
    CM_T_activation_backward_dy,
    CM_T_activation_backward_x,
    CM_T_activation_backward_y,
    CM_T_activation_backward_narrow
};
enum { CM_T_add_y, CM_T_add_a, CM_T_add_b, CM_T_add_narrow };
enum { CM_T_scale_add_y, CM_T_scale_add_x, CM_T_scale_add_times, CM_T_scale_add_narrow };
enum {
    CM_T_layer_norm_y,
    CM_T_layer_norm_saved,
    CM_T_layer_norm_x,
    CM_T_layer_norm_scale,
    CM_T_layer_norm_shift,
    CM_T_layer_norm_narrow
};
enum {
    CM_T_layer_norm_backward_dx,
    CM_T_layer_norm_backward_dscale,
    CM_T_layer_norm_backward_dshift,
    CM_T_layer_norm_backward_dy,
    CM_T_layer_norm_backward_x,
    CM_T_layer_norm_backward_y,
    CM_T_layer_norm_backward_saved,
    CM_T_layer_norm_backward_scale,
    CM_T_layer_norm_backward_shift,
    CM_T_layer_norm_backward_narrow
};
enum {
    CM_T_batch_norm_y,
    CM_T_batch_norm_saved,
    CM_T_batch_norm_stats,
    CM_T_batch_norm_x,
    CM_T_batch_norm_scale,
    CM_T_batch_norm_shift,
    CM_T_batch_norm_residual
};
enum {
    CM_T_batch_norm_backward_dx,
    CM_T_batch_norm_backward_dscale,
    CM_T_batch_norm_backward_dshift,
    CM_T_batch_norm_backward_dresidual,
    CM_T_batch_norm_backward_dy,
    CM_T_batch_norm_backward_x,
    CM_T_batch_norm_backward_y,
    CM_T_batch_norm_backward_saved,
    CM_T_batch_norm_backward_scale
};
enum {
    CM_T_batch_norm_inference_y,
    CM_T_batch_norm_inference_x,
    CM_T_batch_norm_inference_scale,
    CM_T_batch_norm_inference_shift,
    CM_T_batch_norm_inference_mean,
    CM_T_batch_norm_inference_variance,
    CM_T_batch_norm_inference_residual
};
enum {
    CM_T_batch_norm_inference_backward_dx,
    CM_T_batch_norm_inference_backward_dscale,
    CM_T_batch_norm_inference_backward_dshift,
    CM_T_batch_norm_inference_backward_dresidual,
    CM_T_batch_norm_inference_backward_dy,
    CM_T_batch_norm_inference_backward_x,
    CM_T_batch_norm_inference_backward_y,
    CM_T_batch_norm_inference_backward_scale,
    CM_T_batch_norm_inference_backward_mean,
    CM_T_batch_norm_inference_backward_variance
};
enum {
    CM_T_batch_norm_update_mean,
    CM_T_batch_norm_update_variance,
    CM_T_batch_norm_update_stats,
    CM_T_batch_norm_update_factor
};
enum { CM_T_minmax_y, CM_T_minmax_saved, CM_T_minmax_x, CM_T_minmax_narrow, CM_T_minmax_narrow_x };
enum {
    CM_T_minmax_backward_dx,
    CM_T_minmax_backward_dy,
    CM_T_minmax_backward_y,
    CM_T_minmax_backward_saved,
    CM_T_minmax_backward_narrow
};
enum { CM_T_simnorm_y, CM_T_simnorm_x };
enum { CM_T_simnorm_backward_dx, CM_T_simnorm_backward_dy, CM_T_simnorm_backward_y };
enum { CM_T_avg_pool_y, CM_T_avg_pool_x };
enum { CM_T_avg_pool_backward_dx, CM_T_avg_pool_backward_dy };
enum { CM_T_global_mean_y, CM_T_global_mean_x };
enum { CM_T_global_mean_backward_dx, CM_T_global_mean_backward_dy };
enum { CM_T_action_encoding_y, CM_T_action_encoding_x, CM_T_action_encoding_action };
enum { CM_T_action_encoding_backward_dx, CM_T_action_encoding_backward_dy };
enum { CM_T_embedding_add_y, CM_T_embedding_add_x, CM_T_embedding_add_table, CM_T_embedding_add_action };
enum {
    CM_T_embedding_add_backward_dx,
    CM_T_embedding_add_backward_dtable,
    CM_T_embedding_add_backward_dy,
    CM_T_embedding_add_backward_action
};
enum { CM_T_gather_rows_y, CM_T_gather_rows_x, CM_T_gather_rows_rows };
enum { CM_T_scatter_rows_y, CM_T_scatter_rows_x, CM_T_scatter_rows_rows };
enum {
    CM_T_bootstrap_target,
    CM_T_bootstrap_partial,
    CM_T_bootstrap_coefficient,
    CM_T_bootstrap_value,
    CM_T_bootstrap_rows
};
enum { CM_T_one_hot_y, CM_T_one_hot_x };
enum { CM_T_softmax_y, CM_T_softmax_x, CM_T_softmax_legal };
enum { CM_T_softmax_backward_dx, CM_T_softmax_backward_dy, CM_T_softmax_backward_y };
enum { CM_T_log_softmax_y, CM_T_log_softmax_x };
enum { CM_T_log_softmax_backward_dx, CM_T_log_softmax_backward_dy, CM_T_log_softmax_backward_y };
enum { CM_T_value_transform_y, CM_T_value_transform_x };
enum { CM_T_two_hot_y, CM_T_two_hot_value };
enum { CM_T_support_decode_value, CM_T_support_decode_logits };
enum {
    CM_T_categorical_loss_loss,
    CM_T_categorical_loss_dlogits,
    CM_T_categorical_loss_decoded,
    CM_T_categorical_loss_logits,
    CM_T_categorical_loss_target,
    CM_T_categorical_loss_coefficient,
    CM_T_categorical_loss_narrow
};
enum {
    CM_T_policy_loss_loss,
    CM_T_policy_loss_entropy,
    CM_T_policy_loss_dlogits,
    CM_T_policy_loss_logits,
    CM_T_policy_loss_target,
    CM_T_policy_loss_coefficient,
    CM_T_policy_loss_legal,
    CM_T_policy_loss_narrow
};
enum {
    CM_T_scalar_loss_loss,
    CM_T_scalar_loss_dprediction,
    CM_T_scalar_loss_prediction,
    CM_T_scalar_loss_target,
    CM_T_scalar_loss_coefficient,
    CM_T_scalar_loss_narrow
};
enum {
    CM_T_square_loss_loss,
    CM_T_square_loss_dx,
    CM_T_square_loss_x,
    CM_T_square_loss_y,
    CM_T_square_loss_coefficient
};
enum {
    CM_T_consistency_loss_loss,
    CM_T_consistency_loss_dx,
    CM_T_consistency_loss_x,
    CM_T_consistency_loss_y,
    CM_T_consistency_loss_coefficient
};
enum {
    CM_T_lstm_y,
    CM_T_lstm_saved,
    CM_T_lstm_x,
    CM_T_lstm_h0,
    CM_T_lstm_c0,
    CM_T_lstm_weight_ih,
    CM_T_lstm_weight_hh,
    CM_T_lstm_bias_ih,
    CM_T_lstm_bias_hh
};
enum {
    CM_T_lstm_backward_dx,
    CM_T_lstm_backward_dh0,
    CM_T_lstm_backward_dc0,
    CM_T_lstm_backward_dweight_ih,
    CM_T_lstm_backward_dweight_hh,
    CM_T_lstm_backward_dbias_ih,
    CM_T_lstm_backward_dbias_hh,
    CM_T_lstm_backward_dy,
    CM_T_lstm_backward_x,
    CM_T_lstm_backward_h0,
    CM_T_lstm_backward_c0,
    CM_T_lstm_backward_y,
    CM_T_lstm_backward_saved,
    CM_T_lstm_backward_weight_ih,
    CM_T_lstm_backward_weight_hh
};
enum {
    CM_T_prefix_step_reward,
    CM_T_prefix_step_memory,
    CM_T_prefix_step_prefix,
    CM_T_prefix_step_h,
    CM_T_prefix_step_c,
    CM_T_prefix_step_before
};
enum { CM_T_sample_actions_memory, CM_T_sample_actions_logits, CM_T_sample_actions_p, CM_T_sample_actions_seed };
enum { CM_T_sampled_action_action, CM_T_sampled_action_seed, CM_T_sampled_action_memory, CM_T_sampled_action_choice };
enum { CM_T_action_numbers_y, CM_T_action_numbers_action };
enum { CM_T_add_into_y, CM_T_add_into_x };
enum { CM_T_sum_squares_partial, CM_T_sum_squares_x };
enum { CM_T_clip_factor, CM_T_clip_scaling, CM_T_clip_partial, CM_T_clip_check };
enum {
    CM_T_adam_step_parameter,
    CM_T_adam_step_first,
    CM_T_adam_step_second,
    CM_T_adam_step_gradient,
    CM_T_adam_step_factor,
    CM_T_adam_step_scaling
};
enum { CM_T_sgd_step_parameter, CM_T_sgd_step_momentum, CM_T_sgd_step_gradient, CM_T_sgd_step_factor };
enum { CM_T_muon_step_parameter, CM_T_muon_step_momentum, CM_T_muon_step_gradient, CM_T_muon_step_factor };
enum { CM_T_lerp_y, CM_T_lerp_x, CM_T_lerp_factor };

#endif
