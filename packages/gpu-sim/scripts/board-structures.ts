import type { PowerPhysics, WorkPhysics } from '../src/board-physics.js'

/**
 * One combination of equations for board and host. The published measurements cannot tell these combinations apart. The
 * coefficients of each were fitted separately; the package's documentation gives the errors.
 */
export interface BoardStructure {
  readonly name: string
  readonly contention: WorkPhysics['contention']
  readonly saturation: WorkPhysics['saturation']
  readonly voltageCurve: PowerPhysics['voltageCurve']
  /** Exponent that says how far launches and kernels overlap, see `HostProfile`. */
  readonly overlap: number
}

/** All combinations. Boards use the first one unless they are variants. */
export const boardStructures: readonly BoardStructure[] = [
  { name: 'shipped', contention: 'queue', saturation: 'smooth', voltageCurve: 'knee', overlap: 6 },
  {
    name: 'proportional-rounded',
    contention: 'proportional',
    saturation: 'smooth',
    voltageCurve: 'rounded',
    overlap: 6,
  },
  { name: 'queue-sharp', contention: 'queue', saturation: 'sharp', voltageCurve: 'knee', overlap: 3 },
  { name: 'soft-bent', contention: 'proportional', saturation: 'soft', voltageCurve: 'bent', overlap: 4 },
  { name: 'max-min-rounded', contention: 'max-min', saturation: 'smooth', voltageCurve: 'rounded', overlap: 3 },
]
