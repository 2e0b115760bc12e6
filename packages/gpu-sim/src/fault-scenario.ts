import { InvalidInputError } from '@pctodl/platform'

export type Setter = 'sm-clock' | 'mem-clock' | 'power-limit'

/** A fault that occurs at a time, ms after the board was created. */
interface Event {
  readonly atMs: number
}

/** A fault that lasts for a duration; without one, until the end of the run. */
interface Episode extends Event {
  readonly durationMs?: number
}

/**
 * A fault that affects one process. `tenant` is its index among the living processes of the board in the order of their
 * start. Default: a random one.
 */
interface Struck {
  readonly tenant?: number
}

/** A fault of a simulated board. */
export type Fault =
  /** The board falls off the bus: every call fails with `GPU_LOST`, and so does every process. */
  | ({ readonly kind: 'gpu-lost' } & Event)
  /** Setters fail with `NO_PERMISSION` (default) or `NOT_SUPPORTED`. */
  | ({
      readonly kind: 'setter-refused'
      readonly setter?: Setter
      readonly reason?: 'no-permission' | 'not-supported'
    } & Episode)
  /** Setters return without an error and change nothing. */
  | ({ readonly kind: 'setter-ignored'; readonly setter?: Setter } & Episode)
  /** Readings have no values. */
  | ({ readonly kind: 'telemetry-failing' } & Episode)
  /** Readings repeat the last one. */
  | ({ readonly kind: 'telemetry-frozen' } & Episode)
  /** All clients die. New processes time-slice until `startMps` is called. */
  | ({ readonly kind: 'mps-daemon-crash' } & Event)
  /** A fatal fault in one client takes down every client of its server; the next client gets a new server. */
  | ({ readonly kind: 'mps-server-fault' } & Event & Struck)
  | ({ readonly kind: 'client-out-of-memory' } & Event & Struck)
  /** The process stays alive and keeps its memory, but completes nothing. */
  | ({ readonly kind: 'client-hung' } & Episode & Struck)
  | ({ readonly kind: 'client-killed' } & Event & Struck)
  /** Processes started now take `factor` times as long to load. */
  | ({ readonly kind: 'slow-load'; readonly factor: number } & Episode)
  /** The firmware measures an excessive temperature. */
  | ({ readonly kind: 'thermal-slowdown' } & Episode)
  /**
   * Power readings, and the power that the firmware acts on, are too high by `gainPercent` and `offsetW`; the energy
   * counter is right.
   */
  | ({ readonly kind: 'sensor-bias'; readonly gainPercent?: number; readonly offsetW?: number } & Episode)

export type FaultKind = Fault['kind']

/** The faults of a run. The same scenario affects every policy alike. */
export interface FaultScenario {
  readonly faults: readonly Fault[]
  /** Seed that chooses the tenant where none is named, and draws the jitter. Default 1. */
  readonly seed?: number
  /** The start of each fault is delayed by a random time from 0 to this, ms. Default 0. */
  readonly jitterMs?: number
}

type FieldCheck = readonly [accepts: (value: unknown) => boolean, expected: string]

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)
const isCount = (value: unknown) => Number.isInteger(value) && (value as number) >= 0
const oneOf = (...names: string[]): FieldCheck => [(value) => names.includes(value as string), names.join(' or ')]

const checks: Readonly<Record<string, FieldCheck>> = {
  durationMs: [(value) => isNumber(value) && value > 0, 'a positive number of milliseconds'],
  tenant: [isCount, 'the index of a process, 0 or more'],
  setter: oneOf('sm-clock', 'mem-clock', 'power-limit'),
  reason: oneOf('no-permission', 'not-supported'),
  factor: [(value) => isNumber(value) && value >= 1, 'a factor of at least 1'],
  gainPercent: [(value) => isNumber(value) && value > -100, 'a percentage above -100'],
  offsetW: [isNumber, 'a number of watts'],
}

/** Fields that each kind has besides `kind` and `atMs`; those with a `!` are required. */
const fields: Readonly<Record<FaultKind, readonly string[]>> = {
  'gpu-lost': [],
  'setter-refused': ['durationMs', 'setter', 'reason'],
  'setter-ignored': ['durationMs', 'setter'],
  'telemetry-failing': ['durationMs'],
  'telemetry-frozen': ['durationMs'],
  'mps-daemon-crash': [],
  'mps-server-fault': ['tenant'],
  'client-out-of-memory': ['tenant'],
  'client-hung': ['durationMs', 'tenant'],
  'client-killed': ['tenant'],
  'slow-load': ['durationMs', 'factor!'],
  'thermal-slowdown': ['durationMs'],
  'sensor-bias': ['durationMs', 'gainPercent', 'offsetW'],
}

export const faultKinds = Object.keys(fields) as readonly FaultKind[]

/**
 * Validates a scenario from a file or caller; later code trusts it.
 *
 * @throws InvalidInputError naming the fault and the field
 */
export function assertFaultScenario(scenario: unknown): asserts scenario is FaultScenario {
  const { faults, seed = 1, jitterMs = 0 } = asRecord('faults', scenario)
  if (!Array.isArray(faults)) throw new InvalidInputError('faults.faults', faults, 'a list of faults')
  if (!isCount(seed)) throw new InvalidInputError('faults.seed', seed, 'an integer of at least 0')
  if (!isNumber(jitterMs) || jitterMs < 0) {
    throw new InvalidInputError('faults.jitterMs', jitterMs, 'a number of milliseconds, 0 or more')
  }
  faults.forEach((fault: unknown, i) => {
    assertFault(`faults[${i}]`, asRecord(`faults[${i}]`, fault))
  })
}

function assertFault(at: string, fault: Readonly<Record<string, unknown>>): void {
  const { kind, atMs } = fault
  const allowed = Object.hasOwn(fields, String(kind)) ? fields[kind as FaultKind] : undefined
  if (!allowed) throw new InvalidInputError(`${at}.kind`, kind, `one of ${faultKinds.join(', ')}`)
  if (!isNumber(atMs) || atMs < 0) {
    throw new InvalidInputError(`${at}.atMs`, atMs, 'milliseconds since the board was made, 0 or more')
  }
  for (const name of allowed) {
    if (name.endsWith('!') && fault[name.slice(0, -1)] === undefined) {
      throw new InvalidInputError(`${at}.${name.slice(0, -1)}`, undefined, checks[name.slice(0, -1)]![1])
    }
  }
  const names = allowed.map((name) => name.replace('!', ''))
  for (const [name, value] of Object.entries(fault)) {
    if (name === 'kind' || name === 'atMs') continue
    if (!names.includes(name)) {
      throw new InvalidInputError(`${at}.${name}`, value, `no such field: ${kind} has ${['atMs', ...names].join(', ')}`)
    }
    const [accepts, expected] = checks[name]!
    if (!accepts(value)) throw new InvalidInputError(`${at}.${name}`, value, expected)
  }
}

function asRecord(at: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw new InvalidInputError(at, value, 'an object')
  return value as Readonly<Record<string, unknown>>
}
