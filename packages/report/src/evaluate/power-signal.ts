import { InvalidInputError } from '@pctodl/platform'

/** Power over a run, one entry per sample. */
export interface PowerSeries {
  /** Time of each sample since the run began, ms. */
  readonly timeMs: readonly number[]
  readonly powerCapW: readonly number[]
  /** Reading of the board's sensor, W; null if it could not be read. */
  readonly sensorW: readonly (number | null)[]
  /** True mean power over the interval that ends at `timeMs`, W. Only simulated boards report it. */
  readonly trueW?: readonly number[]
}

/** The power series by which a run is judged: `true` power of a simulated board, or the board's own `sensor`. */
export type PowerSource = 'true' | 'sensor'

/** True power if the series contains it, else the sensor's reading. */
export function bestPowerSource(series: PowerSeries): PowerSource {
  return series.trueW === undefined ? 'sensor' : 'true'
}

/**
 * Power as a function that is constant between samples. From `knotsMs[i]` to `knotsMs[i + 1]`, power was `powerW[i]`
 * under the cap `capW[i]`. If power is unknown in an interval, `known[i]` and `powerW[i]` are 0, so that the interval
 * adds neither energy nor known time.
 */
export interface PowerSignal {
  readonly steps: number
  readonly knotsMs: Float64Array
  readonly powerW: Float64Array
  readonly known: Uint8Array
  readonly capW: Float64Array
  /** Energy in the known intervals from the start of the run to each knot, W·ms. */
  readonly energyUntil: Float64Array
  /** Time with known power from the start of the run to each knot, ms. */
  readonly knownUntilMs: Float64Array
}

/**
 * Converts a series of samples to a signal. A sample stands for the interval from the sample before to its own time
 * stamp; the first sample for the time from the start of the run. Of samples with the same time stamp, only the first
 * is used.
 *
 * @throws InvalidInputError if lengths differ, time decreases, a figure is not finite, or true power is requested but
 *   unknown
 */
export function powerSignal(series: PowerSeries, source: PowerSource): PowerSignal {
  const samples = source === 'true' ? series.trueW : series.sensorW
  if (samples === undefined) {
    throw new InvalidInputError('power.trueW', undefined, "true power, which only simulated boards know; use 'sensor'")
  }
  const length = series.timeMs.length
  if (length === 0) throw new InvalidInputError('power.timeMs', [], 'at least one sample')
  assertLength(source === 'true' ? 'power.trueW' : 'power.sensorW', samples.length, length)
  assertLength('power.powerCapW', series.powerCapW.length, length)

  const knotsMs = new Float64Array(length + 1)
  const powerW = new Float64Array(length)
  const known = new Uint8Array(length)
  const capW = new Float64Array(length)
  const energyUntil = new Float64Array(length + 1)
  const knownUntilMs = new Float64Array(length + 1)
  let steps = 0
  for (let i = 0; i < length; i++) {
    const timeMs = series.timeMs[i]!
    const cap = series.powerCapW[i]!
    const watts = samples[i]!
    if (!(timeMs >= knotsMs[steps]! && Number.isFinite(timeMs))) {
      throw new InvalidInputError(`power.timeMs[${i}]`, timeMs, `a time not before ${knotsMs[steps]!} ms`)
    }
    if (!(cap > 0 && Number.isFinite(cap))) {
      throw new InvalidInputError(`power.powerCapW[${i}]`, cap, 'a positive number of watts')
    }
    if (watts !== null && !Number.isFinite(watts)) {
      throw new InvalidInputError(`power.${source}W[${i}]`, watts, 'a number of watts, or null where it is not known')
    }
    const intervalMs = timeMs - knotsMs[steps]!
    if (intervalMs === 0) continue
    powerW[steps] = watts ?? 0
    known[steps] = watts === null ? 0 : 1
    capW[steps] = cap
    energyUntil[steps + 1] = energyUntil[steps]! + powerW[steps]! * intervalMs
    knownUntilMs[steps + 1] = knownUntilMs[steps]! + known[steps]! * intervalMs
    knotsMs[++steps] = timeMs
  }
  return { steps, knotsMs, powerW, known, capW, energyUntil, knownUntilMs }
}

function assertLength(field: string, found: number, expected: number): void {
  if (found !== expected) {
    throw new InvalidInputError(`${field}.length`, found, `${expected}, one entry per time stamp`)
  }
}
