/* Plays one episode with a trained agent, from a program of your own:
 *
 *     cc embed.c $(pkg-config --cflags --libs cumind) -o embed
 *     ./embed RUN [SEED]
 *
 * RUN is the folder of a run of `cumind train`. Every function that can fail returns a cumind_status; the reason is
 * then in cumind_error_message(). */
#include <cumind.h>
#include <stdio.h>
#include <stdlib.h>

/* The agent decides, the environment answers, until the episode ends. */
static cumind_status play(cumind_agent *agent, cumind_env *env, uint64_t seed) {
    const cumind_env_arrays seen = cumind_env_get_arrays(env);
    int32_t action;
    const cumind_analysis wanted = {.action = &action};
    double total = 0.0;
    int steps = 0;
    cumind_status status = cumind_env_reset(env, NULL, &seed);
    while (status == CUMIND_OK && !seen.terminated[0] && !seen.truncated[0]) {
        status = cumind_agent_analyse_env(agent, env, 0, 1, &wanted);
        if (status == CUMIND_OK) status = cumind_env_step(env, &action);
        if (status == CUMIND_OK) total += (double)seen.reward[0], steps++;
    }
    if (status == CUMIND_OK) printf("seed %llu: return %g in %d steps\n", (unsigned long long)seed, total, steps);
    return status;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: embed RUN [SEED]\n");
        return 2;
    }
    cumind_agent *agent = NULL;
    cumind_env *env = NULL;
    cumind_status status = cumind_agent_open(argv[1], CUMIND_PREFERRED, NULL, 0, &agent);
    if (status == CUMIND_OK) status = cumind_agent_open_env(agent, 1, 0, &env);
    if (status == CUMIND_OK) status = play(agent, env, argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
    if (status != CUMIND_OK) fprintf(stderr, "embed: %s\n", cumind_error_message());
    cumind_env_close(env);
    cumind_agent_close(agent);
    return status != CUMIND_OK;
}
