import type { JudgedSample } from './judged-event.js'
import type { RecordedWindow } from './run-record.js'

/**
 * Windows for a log that has none: each ends with the first reading at least `windowMs` after its start, and its throughput is
 * what was completed meanwhile over that time. A shorter rest at the end is left out.
 */
export function windowsOfSamples(
  samples: readonly JudgedSample[],
  windowMs: number,
): Omit<RecordedWindow, 'startedAt'>[] {
  const windows: Omit<RecordedWindow, 'startedAt'>[] = []
  let startMs = 0
  let completedBefore = 0
  let within: JudgedSample[] = []
  for (const sample of samples) {
    within.push(sample)
    const { timeMs: endMs, completed, powerCapW } = sample
    if (endMs - startMs < windowMs) continue
    const powerW = within.flatMap(({ telemetry }) => telemetry.powerAverageW ?? [])
    const clocksMhz = within.flatMap(({ telemetry }) => telemetry.smClockMhz ?? [])
    windows.push({
      iteration: windows.length + 1,
      startMs,
      endMs,
      powerCapW,
      powerAverageW: mean(powerW),
      powerMaxW: powerW.length === 0 ? null : Math.max(...powerW),
      smClockMhz: mean(clocksMhz),
      memClockMhz: null,
      smUtilPercent: null,
      memUtilPercent: null,
      throughput: ((completed - completedBefore) / (endMs - startMs)) * 1000,
      samples: completed - completedBefore,
      tenants: [],
      applied: { smClockMhz: null, memClockMhz: null },
      reconfigured: within.some(({ reconfiguring }) => reconfiguring === true),
    })
    startMs = endMs
    completedBefore = completed
    within = []
  }
  return windows
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
}
