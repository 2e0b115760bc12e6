import { findGpuSpec, InvalidInputError, type Telemetry } from '@pctodl/platform'
import { evaluate, type RunEvent, RunRecorder, type RunRecording } from '@pctodl/scheduler'
import { FrameBuilder, type RunFrame, type RunOutcome } from './run-frame.js'

/** A run that somebody else made, all of it. */
export interface OpenedRecord {
  /** Policy or algorithm. */
  readonly policy: string
  readonly board: string
  readonly durationS: number
  readonly frame: RunFrame
  readonly outcome: RunOutcome
}

/**
 * Read the log of `pctodl run --log-file` (`*.events.jsonl`, of a real board as well), or a record of the matrix
 * (`*.record.json`).
 *
 * @throws InvalidInputError naming file, line and what is missing
 */
export function readRecord(name: string, text: string): OpenedRecord {
  const [firstLine = ''] = text.split('\n', 1)
  const first = parsed(`${name}, line 1`, firstLine)
  return first['recordVersion'] === 1 ? recordOfMatrix(name, first) : recordOfEvents(name, text)
}

function recordOfEvents(name: string, text: string): OpenedRecord {
  const lines = text.split('\n')
  // What comes after the last line break is a line that was cut off.
  lines.pop()
  const frames = new FrameBuilder()
  const recorder = new RunRecorder()
  let start: Extract<RunEvent, { type: 'run-start' }> | undefined
  let lastMs = -1
  lines.forEach((line, i) => {
    const place = `${name}, line ${i + 1}`
    const event = eventOf(place, parsed(place, line))
    if (event.type === 'run-start') start = event
    if (!start) throw new InvalidInputError(place, event.type, "'run-start', with which a record begins")
    if (event.type === 'sample') {
      if (event.timeMs < lastMs)
        throw new InvalidInputError(`${place}: timeMs`, event.timeMs, 'a time that does not go back')
      lastMs = event.timeMs
    }
    frames.add(event)
    recorder.add(event)
  })
  if (!start || lastMs < 0)
    throw new InvalidInputError(name, `${lines.length} lines`, 'the record of a run, with samples')
  return opened(start.policy, start.board, recorder.recording(), frames)
}

function opened(policy: string, board: string, recording: RunRecording, frames: FrameBuilder): OpenedRecord {
  return {
    policy,
    board: boardName(board),
    durationS: recording.durationMs / 1000,
    frame: frames.take(),
    outcome: { evaluation: evaluate(recording), notes: [] },
  }
}

/** What is read of an event, checked; everything else passes as it is. */
function eventOf(place: string, event: Readonly<Record<string, unknown>>): RunEvent {
  const isNumber = (value: unknown) => typeof value === 'number' && Number.isFinite(value)
  const need = (field: string, value: unknown, fits: boolean, expected: string) => {
    if (!fits) throw new InvalidInputError(`${place}: ${field}`, value, expected)
  }
  need('type', event['type'], typeof event['type'] === 'string', 'the name of an event')
  need('timeMs', event['timeMs'], isNumber(event['timeMs']) && (event['timeMs'] as number) >= 0, 'milliseconds from 0')
  const part = (field: string) => {
    const value = event[field]
    need(field, value, typeof value === 'object' && value !== null, 'an object')
    return value as Readonly<Record<string, unknown>>
  }
  switch (event['type']) {
    case 'run-start':
      for (const field of ['policy', 'board']) need(field, event[field], typeof event[field] === 'string', 'a name')
      break
    case 'sample': {
      const { powerAverageW } = part('telemetry')
      need('telemetry.powerAverageW', powerAverageW, powerAverageW === null || isNumber(powerAverageW), 'watts or null')
      need('powerCapW', event['powerCapW'], isNumber(event['powerCapW']), 'watts')
      need('completed', event['completed'], isNumber(event['completed']), 'a count of samples')
      break
    }
    case 'window': {
      const { endMs, throughput, tenants } = part('window')
      need('window.endMs', endMs, isNumber(endMs), 'milliseconds')
      need('window.throughput', throughput, isNumber(throughput), 'samples/s')
      need('window.tenants', tenants, Array.isArray(tenants), 'a list of tenants')
      break
    }
    case 'action':
      part('action')
      break
    case 'decision':
      part('decision')
      break
  }
  return event as unknown as RunEvent
}

/** The record of a cell of the matrix: series instead of events. */
function recordOfMatrix(name: string, record: Readonly<Record<string, unknown>>): OpenedRecord {
  const power = record['power'] as Readonly<Record<string, readonly (number | null)[]>> | undefined
  const windows = record['windows'] as readonly Readonly<Record<string, unknown>>[] | undefined
  const { timeMs, powerCapW, sensorW, smClockMhz, trueW } = power ?? {}
  if (!timeMs || !powerCapW || !sensorW || timeMs.length === 0 || !Array.isArray(windows)) {
    throw new InvalidInputError(name, Object.keys(power ?? {}), 'power with timeMs, powerCapW and sensorW, and windows')
  }
  const frames = new FrameBuilder()
  const sample = (i: number) => ({
    powerAverageW: sensorW[i] ?? null,
    smClockMhz: smClockMhz?.[i] ?? null,
    temperatureC: null,
  })
  for (const [i, time] of timeMs.entries()) {
    const telemetry = sample(i) as unknown as Telemetry
    frames.add({ type: 'sample', timeMs: time!, telemetry, powerCapW: powerCapW[i]! } as unknown as RunEvent)
  }
  for (const window of windows) {
    frames.add({ type: 'window', timeMs: Number(window['endMs']), window } as unknown as RunEvent)
  }
  const samplesOf = (window: Readonly<Record<string, unknown>>) => Number(window['samples'])
  const completed = timeMs.map((time) => completedAt(windows, time!, samplesOf))
  const recording = {
    board: String(record['board']),
    policy: String(record['algorithm']),
    durationMs: timeMs.at(-1)!,
    power: { timeMs, powerCapW, sensorW, ...(trueW ? { trueW } : {}) },
    completed,
    energyCounterJ: timeMs.map(() => null),
    actuations: [],
    windows,
  } as unknown as RunRecording
  return opened(recording.policy, recording.board, recording, frames)
}

/** Samples completed until a time: a window's are spread over it evenly, for a record of the matrix says no more. */
function completedAt(
  windows: readonly Readonly<Record<string, unknown>>[],
  timeMs: number,
  samplesOf: (window: Readonly<Record<string, unknown>>) => number,
): number {
  let sum = 0
  for (const window of windows) {
    const [startMs, endMs] = [Number(window['startMs']), Number(window['endMs'])]
    if (startMs >= timeMs) break
    sum += samplesOf(window) * Math.min(1, (timeMs - startMs) / (endMs - startMs))
  }
  return sum
}

function parsed(place: string, text: string): Readonly<Record<string, unknown>> {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw new InvalidInputError(place, text.slice(0, 60), 'a record of a run as JSON', { cause: error })
  }
  if (typeof json !== 'object' || json === null) throw new InvalidInputError(place, json, 'an object')
  return json as Readonly<Record<string, unknown>>
}

/** A board that nobody here knows keeps the name that its record gives it. */
function boardName(board: string): string {
  try {
    return findGpuSpec(board).name
  } catch {
    return board
  }
}
