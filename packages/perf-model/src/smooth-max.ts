/**
 * Smooth maximum of two arguments >= 0, used where the slower of two things sets the pace: never below the larger argument, at
 * most sqrt(2) times it, and increasing in both.
 */
export function smoothMax2(a: number, b: number): number {
  return Math.sqrt(a * a + b * b)
}
