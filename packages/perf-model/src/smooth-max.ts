/**
 * Smooth maxima, used wherever the slower of two things sets the pace. All are for arguments >= 0, never below the larger
 * argument and increasing in both; the higher the power, the closer to the plain maximum (at most 2^(1/power) times it).
 * Powers of two need square roots only.
 */
export function smoothMax2(a: number, b: number): number {
  return Math.sqrt(a * a + b * b)
}

/** Fourth power. */
export function smoothMax4(a: number, b: number): number {
  const a2 = a * a
  const b2 = b * b
  return Math.sqrt(Math.sqrt(a2 * a2 + b2 * b2))
}

/** Eighth power. */
export function smoothMax8(a: number, b: number): number {
  const a2 = a * a
  const b2 = b * b
  const a4 = a2 * a2
  const b4 = b2 * b2
  return Math.sqrt(Math.sqrt(Math.sqrt(a4 * a4 + b4 * b4)))
}
