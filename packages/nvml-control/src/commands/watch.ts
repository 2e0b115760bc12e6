import type { Terminal } from '@pctodl/command-line'
import type { Telemetry } from '@pctodl/platform'
import { orNull } from '../nvml/nvml-error.js'
import { readTelemetry } from '../nvml/telemetry.js'
import { Sampler } from '../sampling/sampler.js'
import { type BoardOptions, openNvml, selectDevices } from './open-boards.js'
import { plainTable, shown } from './table.js'
import { untilAborted } from './until-aborted.js'

export interface WatchOptions extends BoardOptions {
  readonly period: number
  readonly count?: number
}

const bars = '▁▂▃▄▅▆▇█'
const HISTORY = 40

/** Shows boards live. On a terminal, one display is redrawn; any other output gets one line per sample. */
export async function watch(options: WatchOptions, terminal: Terminal): Promise<number> {
  const nvml = await openNvml(options, terminal)
  const { stdout, signal } = terminal
  const live = stdout.isTTY === true && !options.json
  let left = options.count ?? Number.POSITIVE_INFINITY
  const ended = new AbortController()
  let failure: unknown
  const boards = selectDevices(nvml, options).map((device) => ({ device, index: device.index }))
  const samplers = boards.map(({ device, index }, i) => {
    const onSample = (sample: Telemetry) => {
      if (!live) stdout.write(options.json ? `${JSON.stringify({ gpu: index, ...sample })}\n` : line(index, sample))
      // All boards are sampled at the same times, so output is made only for samples of the first board.
      if (i > 0) return
      if (live) draw()
      if (--left <= 0) ended.abort()
    }
    const onError = (error: unknown) => {
      failure = error
      ended.abort()
    }
    const gpu = { sample: async () => readTelemetry(device) }
    return new Sampler(gpu, { periodMs: options.period, capacity: HISTORY, onSample, onError })
  })
  const draw = () => {
    const rows = boards.map(({ device, index }, i) => {
      const limitW = orNull(() => device.powerLimitW())
      const { samples } = samplers[i]!
      const latest = samples.at(-1)
      return [
        String(index),
        shown(latest?.powerAverageW, 'W', 1),
        shown(latest?.powerInstantW, 'W', 1),
        shown(limitW, 'W'),
        shown(latest?.smClockMhz, 'MHz'),
        shown(latest?.memClockMhz, 'MHz'),
        shown(latest?.smUtilPercent, '%'),
        shown(latest?.temperatureC, 'C'),
        latest?.clocksEventReasons.join(' ') || '-',
        sparkline(samples.map(powerOf), limitW ?? 0),
      ]
    })
    const head = ['GPU', 'average', 'instant', 'limit', 'SM', 'memory', 'busy', 'temp', 'clock events', 'power']
    // To avoid flicker, move the cursor home and overwrite the old frame, clearing the rest of each line.
    const text = plainTable(head, rows).replaceAll('\n', '\u001b[K\n')
    stdout.write(`\u001b[H${text}Ctrl-C ends\u001b[K\u001b[J`)
  }
  // The first board triggers the output, so it starts last: by then every other board has a sample.
  for (const sampler of samplers.toReversed()) sampler.start()
  if (live) stdout.write('\u001b[?25l')
  try {
    await untilAborted(AbortSignal.any([signal, ended.signal]))
  } finally {
    if (live) stdout.write('\u001b[?25h')
    for (const sampler of samplers) await sampler.stop()
  }
  if (failure !== undefined) throw failure
  return 0
}

function powerOf({ powerInstantW, powerAverageW }: Telemetry): number | null {
  return powerInstantW ?? powerAverageW
}

function line(index: number, sample: Telemetry): string {
  return (
    `GPU ${index}  ${shown(powerOf(sample), 'W', 1)}  SM ${shown(sample.smClockMhz, 'MHz')}  ` +
    `memory ${shown(sample.memClockMhz, 'MHz')}  ${shown(sample.smUtilPercent, '%')}  ` +
    `${shown(sample.temperatureC, 'C')}  ${sample.clocksEventReasons.join(' ')}\n`
  )
}

/** Draws power relative to the limit, oldest reading first. A missing reading is blank. */
export function sparkline(values: readonly (number | null)[], limit: number): string {
  const top = Math.max(limit, ...values.map((value) => value ?? 0), 1)
  return values
    .map((value) => (value === null ? ' ' : bars[Math.min(bars.length - 1, Math.floor((value / top) * bars.length))]!))
    .join('')
}
