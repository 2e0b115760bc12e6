/** Weighted least squares of `y = intercept + slope * x`. @param weights default: all alike */
export function fitLine(
  x: readonly number[],
  y: readonly number[],
  weights: readonly number[] = x.map(() => 1),
): { readonly intercept: number; readonly slope: number } {
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value, i) => sum + weights[i]! * value, 0) / weights.reduce((sum, weight) => sum + weight, 0)
  const [centreX, centreY] = [mean(x), mean(y)]
  const slope =
    mean(x.map((value, i) => (value - centreX) * (y[i]! - centreY))) / mean(x.map((value) => (value - centreX) ** 2))
  return { intercept: centreY - slope * centreX, slope }
}
