/** Written by `pnpm params:errors`: by how much boards of one kind differ, as variances of the terms of `error-terms.ts`, and what these leave over. */
export const boardPrior = {
  throughput: {
    mix: new Array<number>(24).fill(1e-4),
    network: new Array<number>(8).fill(1e-3),
    residual: [1e-4, 1e-4, 1e-4],
  },
  power: {
    mix: new Array<number>(24).fill(1e-4),
    network: new Array<number>(8).fill(1e-3),
    residual: [1e-4, 1e-4, 1e-4],
  },
} as const
