// A tree of the usual kind, for `cumind benchmark tree` to be measured against: a node is an object that owns its
// children in a std::map by action, a leaf is expanded into all its children at once, a search walks down from the
// root. Rules (PUCT with values scaled by parent and siblings), random model and sizes are those of
// src/mcts/benchmark.c, so the trees are the same ones: the mean depths must be equal.
//
// usage: map_tree [--actions 2] [--batch 256] [--simulations 50] [--seconds 0.5]
// Prints ns_per_simulation of the fastest round, and mean_depth, as JSON. One thread.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "core/rng.h"

namespace {

constexpr int kStates = 512, kShard = 64, kRounds = 5;
constexpr float kDiscount = 0.997f, kInit = 1.25f, kBase = 19652.0f, kEpsilon = 1e-8f;

struct Sizes {
    int actions = 2, batch = 256, simulations = 50;
    double seconds = 0.5;
};

struct Node {
    float prior = 0, reward = 0, sum = 0;
    int visits = 0, state = 0;
    std::map<int, Node> children;

    explicit Node(float p) : prior(p) {}
    float value() const { return sum / static_cast<float>(visits); }
    float q() const { return reward + kDiscount * value(); }

    void expand(int in_state, float in_reward, const float *logits, int actions) {
        state = in_state;
        reward = in_reward;
        float top = *std::max_element(logits, logits + actions), total = 0;
        std::vector<float> priors(logits, logits + actions);
        for (float &p : priors) total += p = std::exp(p - top);
        for (int a = 0; a < actions; a++) children.emplace(a, Node(priors[static_cast<size_t>(a)] / total));
    }

    // The child with the largest score; of equal ones the first.
    int select() const {
        float low = value(), high = low, n = static_cast<float>(visits), best = -INFINITY;
        for (const auto &[action, child] : children) {
            if (child.visits == 0) continue;
            low = std::min(low, child.q());
            high = std::max(high, child.q());
        }
        float scale = 1.0f / std::max(high - low, kEpsilon);
        float explore = std::sqrt(n) * (kInit + std::log((n + kBase + 1.0f) / kBase));
        int chosen = 0;
        for (const auto &[action, child] : children) {
            float score = child.visits > 0 ? (child.q() - low) * scale : 0.0f;
            score += explore * child.prior / static_cast<float>(child.visits + 1);
            if (score > best) best = score, chosen = action;
        }
        return chosen;
    }
};

struct Model {
    int actions;
    uint32_t round = 0;
    std::vector<float> logits, rewards, values;

    explicit Model(int n) : actions(n), logits(static_cast<size_t>(kStates * n)), rewards(kStates), values(kStates) {
        cm_rng rng = cm_rng_init(cm_key_make(0, CM_RNG_TEST, 0), 0);
        for (float &x : logits) x = cm_rng_normal(&rng);
        for (size_t i = 0; i < kStates; i++) {
            rewards[i] = 2.0f * cm_rng_uniform(&rng) - 1.0f;
            values[i] = 2.0f * cm_rng_uniform(&rng) - 1.0f;
        }
    }
    static int next(uint32_t a, uint32_t b) {
        uint32_t x = a * 0x9E3779B1u + b * 0x85EBCA6Bu + 0x165667B1u;
        x ^= x >> 15;
        x *= 0x2C1B3C6Du;
        return static_cast<int>(x >> 16 & (kStates - 1));
    }
    const float *prior(int state) const { return &logits[static_cast<size_t>(state * actions)]; }
};

using Path = std::vector<Node *>;

// From the root to a node that is not expanded.
void walk(Node &root, Path &path, int &action) {
    path.assign(1, &root);
    for (Node *at = &root; !at->children.empty(); path.push_back(at)) {
        action = at->select();
        at = &at->children.at(action);
    }
}

void back_up(const Path &path, float g) {
    for (size_t i = path.size(); i-- > 0;) {
        path[i]->sum += g;
        path[i]->visits += 1;
        g = path[i]->reward + kDiscount * g;
    }
}

// One search of `batch` roots in lock-step; returns the sum of the depths.
double search(Model &model, const Sizes &sizes, int batch) {
    std::vector<Node> roots(static_cast<size_t>(batch), Node(0.0f));
    std::vector<Path> paths(roots.size());
    std::vector<int> states(roots.size()), actions(roots.size());
    double depth = 0;
    model.round++;
    for (size_t b = 0; b < roots.size(); b++) {
        int state = Model::next(model.round, static_cast<uint32_t>(b));
        roots[b].expand(state, 0.0f, model.prior(state), sizes.actions);
        back_up({&roots[b]}, model.values[static_cast<size_t>(state)]);
    }
    for (int simulation = 0; simulation < sizes.simulations; simulation++) {
        for (size_t b = 0; b < roots.size(); b++) walk(roots[b], paths[b], actions[b]);
        for (size_t b = 0; b < roots.size(); b++) {
            const Node *above = paths[b][paths[b].size() - 2];
            states[b] = Model::next(static_cast<uint32_t>(above->state), static_cast<uint32_t>(actions[b]));
        }
        for (size_t b = 0; b < roots.size(); b++) {
            size_t state = static_cast<size_t>(states[b]);
            paths[b].back()->expand(states[b], model.rewards[state], model.prior(states[b]), sizes.actions);
            back_up(paths[b], model.values[state]);
            depth += static_cast<double>(paths[b].size() - 1);
        }
    }
    return depth;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

} // namespace

int main(int argc, char **argv) {
    Sizes sizes;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!std::strcmp(argv[i], "--actions")) sizes.actions = std::atoi(argv[i + 1]);
        if (!std::strcmp(argv[i], "--batch")) sizes.batch = std::atoi(argv[i + 1]);
        if (!std::strcmp(argv[i], "--simulations")) sizes.simulations = std::atoi(argv[i + 1]);
        if (!std::strcmp(argv[i], "--seconds")) sizes.seconds = std::atof(argv[i + 1]);
    }
    if (sizes.actions < 1 || sizes.batch < 1 || sizes.simulations < 1) {
        std::fprintf(stderr, "map_tree: --actions, --batch and --simulations must be 1 or more\n");
        return 2;
    }
    Model model(sizes.actions);
    double best = INFINITY, depth = 0, simulations = 1.0 * sizes.batch * sizes.simulations, begin = now();
    for (int round = 0; round < kRounds || now() - begin < sizes.seconds; round++) {
        double start = now(), sum = 0;
        for (int first = 0; first < sizes.batch; first += kShard) {
            sum += search(model, sizes, std::min(kShard, sizes.batch - first));
        }
        best = std::min(best, now() - start);
        if (round == 0) depth = sum / simulations;
    }
    std::printf("{\"ns_per_simulation\": %.1f, \"mean_depth\": %.6f}\n", 1e9 * best / simulations, depth);
    return 0;
}
