/* The example of docs/ADDING_AN_ENVIRONMENT.md compiles as it is and works as a row that is not built in. */
#include <check.h>

#include "../../docs/examples/environment_corridor.c"
#include "env/silent_check.h"
#include "env/vector.h"
#include "support/main.h"

START_TEST(the_corridor_pays_at_its_right_end_only) {
    cm_env env;
    must_equal(cm_env_open_def(&env, &cm_env_corridor, "corridor", NULL), CM_OK);
    int64_t storage[16];
    must(env.spec.state_size <= sizeof storage);
    for (int action = 0; action < 2; action++) {
        cm_env_outcome out = {0.0, false, false};
        cm_env_reset(&env, storage, 3);
        while (!out.terminated) must_equal(cm_env_step(&env, storage, action, &out), CM_OK);
        must(out.reward == (action == RIGHT ? 1.0 : 0.0) && !out.truncated);
        char text[64];
        cm_env_picture(&env, storage, text, sizeof text);
        must_msg(strcmp(text, action == RIGHT ? "........@\n" : "@.......$\n") == 0, "%s", text);
    }
}
END_TEST

START_TEST(the_corridor_is_stepped_as_a_vector_and_truncated) {
    enum { E = 20 };
    cm_env env;
    cm_vector_env *vector;
    float observation[E * CELLS], reward[E];
    uint8_t terminated[E], truncated[E];
    int32_t actions[E];
    const cm_env_rows rows = {observation, NULL, NULL, reward, terminated, truncated};
    must_equal(cm_env_open_def(&env, &cm_env_corridor, "corridor", NULL), CM_OK);
    must_equal(cm_vector_env_create(&env, E, 1, 0, &vector), CM_OK);
    cm_vector_env_reset(vector, 0, E, &rows);
    for (int step = 0; step < 40; step++) { /* to and fro around the middle */
        for (int i = 0; i < E; i++)
            actions[i] = observation[i * CELLS + 1] == 1.0f || (step % 2 == 0 && observation[i * CELLS + 7] == 0.0f);
        must_equal(cm_vector_env_step(vector, 0, E, actions, &rows), CM_OK);
        for (int i = 0; i < E; i++) must(!terminated[i] && truncated[i] == (step == 39) && reward[i] == 0.0f);
    }
    cm_vector_env_destroy(vector);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("example of an environment");
    TCase *tcase = tcase_create("corridor");
    tcase_add_test(tcase, the_corridor_pays_at_its_right_end_only);
    tcase_add_test(tcase, the_corridor_is_stepped_as_a_vector_and_truncated);
    suite_add_tcase(suite, tcase);
    return cm_test_main_in_process(suite);
}
