import type { PowerPhysics, WorkPhysics } from './board-physics.js'

/**
 * Equations of a board and its host that the measurements cannot tell apart. Each was fitted separately; the package's
 * documentation gives the fit errors.
 */
export interface BoardStructure {
  readonly name: string
  readonly contention: WorkPhysics['contention']
  readonly saturation: WorkPhysics['saturation']
  readonly voltageCurve: PowerPhysics['voltageCurve']
  /** Exponent of the overlap of launches and kernels, see `HostProfile`. */
  readonly overlap: number
}

/** The first one is the shipped board. */
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
