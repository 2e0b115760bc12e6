import { InvalidInputError } from '@pctodl/platform'

export type Setter = 'sm-clock' | 'mem-clock' | 'power-limit'

/** A fault that occurs at a time, counted from the creation of the board, ms. */
interface Event {
  readonly atMs: number
}

/** A fault that lasts for `durationMs`; without it, until the end of the run. */
interface Episode extends Event {
  readonly durationMs?: number
}

/**
 * A fault of one process. `tenant` is its index among the board's living processes, in the order of their start.
 * Default: a random one.
 */
interface Struck {
  readonly tenant?: number
}

/** A fault of a simulated board. */
export type Fault =
  /** The board falls off the bus: every call fails with `GPU_LOST`, and every process fails. */
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
  /** Readings repeat the last one before the fault. */
  | ({ readonly kind: 'telemetry-frozen' } & Episode)
  /** All MPS clients die. Processes that start later take turns on the board until `startMps` is called. */
  | ({ readonly kind: 'mps-daemon-crash' } & Event)
  /** A fatal fault of one client ends all clients of its MPS server. The next client gets a new server. */
  | ({ readonly kind: 'mps-server-fault' } & Event & Struck)
  | ({ readonly kind: 'client-out-of-memory' } & Event & Struck)
  /** The process stays alive and keeps its memory, but completes no batches. */
  | ({ readonly kind: 'client-hung' } & Episode & Struck)
  | ({ readonly kind: 'client-killed' } & Event & Struck)
  /** Processes that start during the fault take `factor` times as long to load. */
  | ({ readonly kind: 'slow-load'; readonly factor: number } & Episode)
  /** The firmware reads an excessive temperature and lowers the clock. */
  | ({ readonly kind: 'thermal-slowdown' } & Episode)
  /**
   * Power readings are too high by `gainPercent` and `offsetW`, and the firmware acts on these readings. The energy
   * counter stays right.
   */
  | ({ readonly kind: 'sensor-bias'; readonly gainPercent?: number; readonly offsetW?: number } & Episode)

export type FaultKind = Fault['kind']

/** The faults of a run. With the same scenario, every policy meets the same faults. */
export interface FaultScenario {
  readonly faults: readonly Fault[]
  /** Seed for the delays, and for the choice of a tenant if a fault names none. Default 1. */
  readonly seed?: number
  /** Maximum random delay of the start of each fault, ms. Default 0. */
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

/** Fields that each kind has besides `kind` and `atMs`. All are optional, except `factor`. */
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
  'slow-load': ['durationMs', 'factor'],
  'thermal-slowdown': ['durationMs'],
  'sensor-bias': ['durationMs', 'gainPercent', 'offsetW'],
}

export const faultKinds = Object.keys(fields) as readonly FaultKind[]

/**
 * Validates a scenario that a file or a caller provides.
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
  const required = kind === 'slow-load' ? { factor: undefined } : {}
  for (const [name, value] of Object.entries({ ...required, ...fault })) {
    if (name === 'kind' || name === 'atMs') continue
    if (!allowed.includes(name)) {
      const known = ['atMs', ...allowed].join(', ')
      throw new InvalidInputError(`${at}.${name}`, value, `no such field: ${kind} has ${known}`)
    }
    const [accepts, expected] = checks[name]!
    if (!accepts(value)) throw new InvalidInputError(`${at}.${name}`, value, expected)
  }
}

function asRecord(at: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw new InvalidInputError(at, value, 'an object')
  return value as Readonly<Record<string, unknown>>
}
