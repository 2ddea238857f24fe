"""von_mises: shapes, types, the same numbers by any threads, and where they lie."""

import unittest

import numpy as np

import cumind


class VonMises(unittest.TestCase):
    def test_the_result_has_the_shape_of_mu_and_kappa_together_or_size(self):
        self.assertEqual(cumind.von_mises(0, 1, seed=1).shape, ())
        self.assertEqual(cumind.von_mises([0, 1], [[1.0], [2.0], [3.0]], seed=1).shape, (3, 2))
        self.assertEqual(cumind.von_mises([0, 1], 1, (4, 2), seed=1).shape, (4, 2))
        self.assertEqual(cumind.von_mises(0, 1, 5, seed=1).shape, (5,))
        self.assertEqual(cumind.von_mises(np.zeros(0), 1, seed=1).shape, (0,))

    def test_types_are_those_that_are_asked_for(self):
        self.assertEqual(cumind.von_mises(0, 1, 3, seed=1).dtype, np.float64)
        self.assertEqual(cumind.von_mises(0, 1, 3, seed=1, dtype="float32").dtype, np.float32)

    def test_a_draw_depends_on_seed_stream_and_its_number_alone(self):
        mu, kappa = np.linspace(-3, 3, 100000), np.geomspace(1e-3, 1e6, 100000)
        whole = cumind.von_mises(mu, kappa, seed=7, stream=3)
        np.testing.assert_array_equal(whole, cumind.von_mises(mu, kappa, seed=7, stream=3, threads=3))
        np.testing.assert_array_equal(whole[500:600], cumind.von_mises(mu[500:600], kappa[500:600], seed=7, stream=3, first=500))
        np.testing.assert_array_equal(whole[::2], cumind.von_mises(mu, kappa, seed=7, stream=3)[::2])
        for other in ({"seed": 8, "stream": 3}, {"seed": 7, "stream": 4}):
            self.assertTrue((whole != cumind.von_mises(mu, kappa, **other)).all())

    def test_arrays_that_are_not_contiguous_and_numbers_that_are_whole_are_taken(self):
        mu, kappa = np.linspace(-3, 3, 20)[::2], np.arange(10)
        np.testing.assert_array_equal(cumind.von_mises(mu, kappa, seed=1), cumind.von_mises(mu.copy(), kappa * 1.0, seed=1))

    def test_angles_lie_around_mu_within_a_turn(self):
        for dtype in (np.float32, np.float64):
            around = cumind.von_mises(np.pi, 100.0, 4000, seed=2, dtype=dtype).astype(np.float64)
            self.assertTrue(((around >= -np.pi) & (around < np.pi)).all())
            self.assertAlmostEqual(np.cos(around - np.pi).mean(), 1 - 1 / 200, delta=2e-3)
            self.assertLess(abs(np.sin(around - np.pi).mean()), 5 * 0.1 / 4000**0.5)
            even = cumind.von_mises(0.0, 0.0, 4000, seed=2, dtype=dtype)
            self.assertAlmostEqual(even.std(), np.pi / 3**0.5, delta=0.1)


if __name__ == "__main__":
    unittest.main()
