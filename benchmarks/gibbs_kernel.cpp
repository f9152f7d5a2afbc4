// The sweep of bayesmrf.samplers.gibbs in C++, on the same arrays and with the same random numbers: once as plain loops
// left to the compiler's vectoriser, once with AVX-512 by hand, which is about the best the processor can do.
#include <algorithm>
#include <cstdint>
#ifdef __AVX512BW__
#include <immintrin.h>
#endif

namespace {

constexpr int LANES = 64;
constexpr float BOUND = 9.f, STEP = 1.f / (1 << 23), HALF_STEP = STEP / 2;
constexpr float P1 = 0.999999906f, P3 = 0.133731968f, P5 = 3.48658085e-3f, P7 = 2.04718146e-5f, P9 = 1.3184204e-8f;
constexpr float Q2 = 0.467064937f, Q4 = 0.0258419751f, Q6 = 3.27138373e-4f, Q8 = 7.70265487e-7f;

struct Model {
    const int64_t *starts;
    const int32_t *neighbours, *edge_of;
    const double *coupling, *field;
};

void node_plain(const Model &m, int64_t i, int8_t *x, uint32_t *g) {
    alignas(64) float h[LANES], u[LANES];
    for (int l = 0; l < LANES; l++) h[l] = float(m.field[i]);
    for (int64_t k = m.starts[i]; k < m.starts[i + 1]; k++) {
        const int8_t *other = x + int64_t(m.neighbours[k]) * LANES;
        const float w = float(m.coupling[m.edge_of[k]]);
        for (int l = 0; l < LANES; l++) h[l] += w * float(other[l]);
    }
    for (int l = 0; l < LANES; l++) {
        uint32_t s0 = g[l], s1 = g[LANES + l], s2 = g[2 * LANES + l], s3 = g[3 * LANES + l];
        uint32_t t = s0 + s3;
        const uint32_t bits = (t << 7 | t >> 25) + s0;
        t = s1 << 9;
        s2 ^= s0, s3 ^= s1, s1 ^= s2, s0 ^= s3, s2 ^= t;
        s3 = s3 << 11 | s3 >> 21;
        g[l] = s0, g[LANES + l] = s1, g[2 * LANES + l] = s2, g[3 * LANES + l] = s3;
        u[l] = float(int32_t(bits) >> 8) * STEP + HALF_STEP;
    }
    for (int l = 0; l < LANES; l++) {
        const float z = std::min(std::max(h[l], -BOUND), BOUND), y = z * z;
        const float p = z * (P1 + y * (P3 + y * (P5 + y * (P7 + y * P9))));
        const float q = 1 + y * (Q2 + y * (Q4 + y * (Q6 + y * Q8)));
        x[i * LANES + l] = u[l] * q < p ? 1 : -1;
    }
}

#ifdef __AVX512BW__
__m512 all(float v) { return _mm512_set1_ps(v); }
__m512 horner(__m512 y, __m512 a, float b) { return _mm512_fmadd_ps(y, a, all(b)); }

void node_by_hand(const Model &m, int64_t i, int8_t *x, uint32_t *g) {
    __m512 h[4];
    for (int v = 0; v < 4; v++) h[v] = all(float(m.field[i]));
    for (int64_t k = m.starts[i]; k < m.starts[i + 1]; k++) {
        const int8_t *other = x + int64_t(m.neighbours[k]) * LANES;
        const __m512 w = all(float(m.coupling[m.edge_of[k]]));
        for (int v = 0; v < 4; v++) {
            const __m128i spins = _mm_loadu_si128((const __m128i *)(other + 16 * v));
            h[v] = _mm512_fmadd_ps(w, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(spins)), h[v]);
        }
    }
    for (int v = 0; v < 4; v++) {
        uint32_t *s = g + 16 * v;
        __m512i s0 = _mm512_loadu_si512(s), s1 = _mm512_loadu_si512(s + LANES);
        __m512i s2 = _mm512_loadu_si512(s + 2 * LANES), s3 = _mm512_loadu_si512(s + 3 * LANES);
        const __m512i bits = _mm512_add_epi32(_mm512_rol_epi32(_mm512_add_epi32(s0, s3), 7), s0);
        const __m512i t = _mm512_slli_epi32(s1, 9);
        s2 = _mm512_xor_si512(s2, s0), s3 = _mm512_xor_si512(s3, s1);
        s1 = _mm512_xor_si512(s1, s2), s0 = _mm512_xor_si512(s0, s3);
        s2 = _mm512_xor_si512(s2, t), s3 = _mm512_rol_epi32(s3, 11);
        _mm512_storeu_si512(s, s0), _mm512_storeu_si512(s + LANES, s1);
        _mm512_storeu_si512(s + 2 * LANES, s2), _mm512_storeu_si512(s + 3 * LANES, s3);
        const __m512 u = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_srai_epi32(bits, 8)), all(STEP), all(HALF_STEP));
        const __m512 z = _mm512_min_ps(_mm512_max_ps(h[v], all(-BOUND)), all(BOUND)), y = _mm512_mul_ps(z, z);
        const __m512 p = _mm512_mul_ps(z, horner(y, horner(y, horner(y, horner(y, all(P9), P7), P5), P3), P1));
        const __m512 q = horner(y, horner(y, horner(y, horner(y, all(Q8), Q6), Q4), Q2), 1);
        const __mmask16 up = _mm512_cmp_ps_mask(_mm512_mul_ps(u, q), p, _CMP_LT_OQ);
        const __m128i spins = _mm_mask_blend_epi8(up, _mm_set1_epi8(-1), _mm_set1_epi8(1));
        _mm_storeu_si128((__m128i *)(x + i * LANES + 16 * v), spins);
    }
}
#endif

template <class Node>
void sweep(Node node, const Model &m, int64_t n_blocks, int64_t n_nodes, int8_t *states, uint32_t *lanes,
           int64_t n_sweeps) {
    for (int64_t b = 0; b < n_blocks; b++)
        for (int64_t s = 0; s < n_sweeps; s++)
            for (int64_t i = 0; i < n_nodes; i++) node(m, i, states + b * n_nodes * LANES, lanes + b * 4 * LANES);
}

}  // namespace

extern "C" {

void sweep_plain(Model m, int64_t n_blocks, int64_t n_nodes, int8_t *states, uint32_t *lanes, int64_t n_sweeps) {
    sweep([](auto... a) { node_plain(a...); }, m, n_blocks, n_nodes, states, lanes, n_sweeps);
}

#ifdef __AVX512BW__
void sweep_by_hand(Model m, int64_t n_blocks, int64_t n_nodes, int8_t *states, uint32_t *lanes, int64_t n_sweeps) {
    sweep([](auto... a) { node_by_hand(a...); }, m, n_blocks, n_nodes, states, lanes, n_sweeps);
}
#endif
}
