import type { Backend } from '@pctodl/backend'
import type { ProfileRow } from '../measure/profile-row.js'
import type { Manifest } from '../trace/manifest.js'
import type { ProofResult } from './evaluate-proof.js'
import type { Preflight } from './preflight.js'
import type { SensorStep } from './sensor-step.js'

/** The content of `proof.json`. */
export interface Proof extends Omit<ProofResult, 'parameters'> {
  readonly version: 1
  readonly tool: string
  readonly backend: Backend['kind']
  readonly board: Manifest['board']
  readonly description: string
  readonly preflight: Preflight
  readonly planned: number
  /** Number of rows that the next call must still measure. */
  readonly left: number
  /** Rows that this host cannot measure, counted by reason. */
  readonly skipped: readonly { readonly rows: number; readonly because: string }[]
  readonly sensorStep: SensorStep | null
  readonly rows: readonly ProfileRow[]
}
