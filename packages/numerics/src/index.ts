// Summaries
export { mean, populationDeviation, sampleVariance, sum } from './mean.js'
export { conformalQuantile, median, quantile, quantileOfSorted, upperMedian } from './quantile.js'

// Confidence and tests
export { type MeanInterval, meanInterval } from './mean-interval.js'
export { type Estimate, ratioEstimate } from './bootstrap.js'
export { pairedTest, welchTest } from './tests-of-means.js'

// Distributions
export { normalCdf, normalDensity, normalQuantileOfTail, normalTail } from './normal-distribution.js'
export { incompleteBeta, logGamma } from './gamma-functions.js'

// Regression
export { makeNonDecreasing } from './isotonic-regression.js'
export { nearestMonotoneGrid } from './nearest-monotone-grid.js'
export { leastSquares } from './least-squares.js'
export { type LeastSquaresProblem, type LevenbergMarquardtResult, levenbergMarquardt } from './levenberg-marquardt.js'
export { factorise, inverseFromFactor, solveFactorised } from './cholesky.js'

// Gaussian processes
export { GaussianProcess } from './gaussian-process.js'
export { type LeftOutGroup, LowRankProcess } from './low-rank-process.js'
export { fitVarianceComponents } from './variance-components.js'

// Random numbers and order
export { SeededRandom, seedFrom } from './seeded-random.js'
export { shuffled } from './shuffled.js'
export { IndexedHeap } from './indexed-heap.js'
