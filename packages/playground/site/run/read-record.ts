import { findGpuSpec, InvalidInputError, PctodlError, type Telemetry } from '@pctodl/platform'
import { evaluate, RunRecorder, type RunRecording } from '@pctodl/report/evaluate'
import type { RunEvent } from '@pctodl/scheduler'
import { FrameBuilder, type RunFrame, type RunOutcome } from './run-frame.js'

/** A complete run that was read from a file. */
export interface OpenedRecord {
  /** Policy or algorithm. */
  readonly policy: string
  readonly board: string
  readonly durationS: number
  readonly frame: RunFrame
  readonly outcome: RunOutcome
}

/**
 * Reads a log of `pctodl run --log-file` (`*.events.jsonl`), also of a real board, or a record of a benchmark matrix
 * (`*.record.json`).
 *
 * @throws InvalidInputError that names the file, the line and the missing field
 */
export function readRecord(name: string, text: string): OpenedRecord {
  const [firstLine = ''] = text.split('\n', 1)
  const first = parsed(`${name}, line 1`, firstLine)
  try {
    return first['recordVersion'] === 1 ? recordOfMatrix(name, first) : recordOfEvents(name, text)
  } catch (error) {
    if (error instanceof PctodlError) throw error
    // An error here is about a field that was not checked above.
    throw new InvalidInputError(name, (error as Error).message, 'a record as pctodl run or bench-runner write it', {
      cause: error,
    })
  }
}

function recordOfEvents(name: string, text: string): OpenedRecord {
  const lines = text.split('\n')
  // Text after the last newline is an incomplete line, which is dropped.
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

/** Longest run that the page can show, ms. */
const LONGEST_MS = 24 * 3_600_000

type Fields = Readonly<Record<string, unknown>>

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)
const isText = (value: unknown) => typeof value === 'string'
const isTextOrAbsent = (value: unknown) => value === undefined || isText(value)
const isNumberOrNone = (value: unknown) => value === undefined || value === null || isNumber(value)
const isTime = (value: unknown) => isNumber(value) && value >= 0 && value <= LONGEST_MS
const timeWords = `milliseconds from 0, at most ${LONGEST_MS} (a day: cut a longer run)`

/** Checks one field. @throws InvalidInputError that names the place and the field */
function need(place: string, field: string, value: unknown, fits: boolean, expected: string): void {
  if (!fits) throw new InvalidInputError(`${place}: ${field}`, value, expected)
}

/** Returns the fields of an object. @throws InvalidInputError if the value is no object */
function fieldsOf(place: string, field: string, value: unknown): Fields {
  need(place, field, value, typeof value === 'object' && value !== null && !Array.isArray(value), 'an object')
  return value as Fields
}

/** Returns a list of objects. @throws InvalidInputError if the value is no such list */
function listOf(place: string, field: string, value: unknown): readonly Fields[] {
  need(place, field, value, Array.isArray(value), 'a list')
  return (value as unknown[]).map((entry, i) => fieldsOf(place, `${field}[${i}]`, entry))
}

/** Checks the fields of an event that the page reads. All other fields are passed on unchanged. */
function eventOf(place: string, event: Fields): RunEvent {
  const must = (field: string, value: unknown, fits: boolean, expected: string) =>
    need(place, field, value, fits, expected)
  must('type', event['type'], isText(event['type']), 'the name of an event')
  must('timeMs', event['timeMs'], isTime(event['timeMs']), timeWords)
  const text = (field: string) => must(field, event[field], isText(event[field]), 'a text')
  const textOrAbsent = (field: string) => must(field, event[field], isTextOrAbsent(event[field]), 'a text')
  switch (event['type']) {
    case 'run-start':
      for (const field of ['policy', 'board']) must(field, event[field], isText(event[field]), 'a name')
      break
    case 'sample': {
      const telemetry = fieldsOf(place, 'telemetry', event['telemetry'])
      const { powerAverageW } = telemetry
      must('telemetry.powerAverageW', powerAverageW, powerAverageW === null || isNumber(powerAverageW), 'watts or null')
      for (const field of ['smClockMhz', 'temperatureC']) {
        must(`telemetry.${field}`, telemetry[field], isNumberOrNone(telemetry[field]), 'a number or null')
      }
      must('powerCapW', event['powerCapW'], isNumber(event['powerCapW']), 'watts')
      must('completed', event['completed'], isNumber(event['completed']), 'a count of samples')
      if (event['services'] !== undefined) {
        listOf(place, 'services', event['services']).forEach((service, i) => {
          must(`services[${i}].service`, service['service'], isText(service['service']), 'a name')
          for (const count of ['arrived', 'completed', 'late', 'shed', 'failed', 'queued']) {
            must(`services[${i}].${count}`, service[count], isNumber(service[count]), 'a count')
          }
        })
      }
      break
    }
    case 'window': {
      const { endMs, throughput, tenants } = fieldsOf(place, 'window', event['window'])
      must('window.endMs', endMs, isTime(endMs), timeWords)
      must('window.throughput', throughput, isNumber(throughput), 'samples/s')
      listOf(place, 'window.tenants', tenants).forEach((of, i) => {
        const field = `window.tenants[${i}].tenant`
        const { mpsPercent, batchSize } = fieldsOf(place, field, of['tenant'])
        must(`${field}.mpsPercent`, mpsPercent, isNumber(mpsPercent), 'percent')
        must(`${field}.batchSize`, batchSize, isNumber(batchSize), 'samples')
      })
      break
    }
    case 'cap':
      must('powerCapW', event['powerCapW'], isNumber(event['powerCapW']), 'watts')
      break
    case 'action': {
      const { reason } = fieldsOf(place, 'action', event['action'])
      must('action.reason', reason, isTextOrAbsent(reason), 'a text')
      break
    }
    case 'decision': {
      const { reason } = fieldsOf(place, 'decision', event['decision'])
      must('decision.reason', reason, isTextOrAbsent(reason), 'a text')
      break
    }
    case 'refused':
      text('message')
      break
    case 'tenant':
      text('state')
      textOrAbsent('failure')
      break
    case 'run-end':
      text('outcome')
      textOrAbsent('message')
      break
  }
  return event as unknown as RunEvent
}

/** Reads a record of a benchmark matrix, which contains time series instead of events. */
function recordOfMatrix(name: string, record: Fields): OpenedRecord {
  for (const field of ['board', 'algorithm']) need(name, field, record[field], isText(record[field]), 'a name')
  const power = fieldsOf(name, 'power', record['power'])
  const column = (field: string, fits: (value: unknown) => boolean, expected: string): readonly (number | null)[] => {
    const values = power[field]
    const length = (power['timeMs'] as readonly unknown[] | undefined)?.length
    need(name, `power.${field}`, values, Array.isArray(values), 'a list')
    const list = values as readonly (number | null)[]
    need(name, `power.${field}`, list.length, list.length === length && length > 0, `one for each of ${length} times`)
    list.forEach((value, i) => {
      need(name, `power.${field}[${i}]`, value, fits(value), expected)
    })
    return list
  }
  const reading = (value: unknown) => value === null || isNumber(value)
  const timeMs = column('timeMs', isTime, timeWords) as readonly number[]
  timeMs.forEach((time, i) => {
    need(name, `power.timeMs[${i}]`, time, i === 0 || time >= timeMs[i - 1]!, 'a time that does not go back')
  })
  const powerCapW = column('powerCapW', isNumber, 'watts')
  const sensorW = column('sensorW', reading, 'watts or null')
  const smClockMhz = power['smClockMhz'] === undefined ? undefined : column('smClockMhz', reading, 'MHz or null')
  const trueW = power['trueW'] === undefined ? undefined : column('trueW', reading, 'watts or null')
  const windows = listOf(name, 'windows', record['windows'])
  windows.forEach((window, i) => {
    const { startMs, endMs, throughput, samples, tenants } = window
    const place = `windows[${i}]`
    need(name, `${place}.startMs`, startMs, isTime(startMs), timeWords)
    need(name, `${place}.endMs`, endMs, isTime(endMs) && Number(endMs) > Number(startMs), 'a time after startMs, ms')
    need(name, `${place}.throughput`, throughput, isNumber(throughput), 'samples/s')
    need(name, `${place}.samples`, samples, isNumber(samples), 'a count of samples')
    eventOf(`${name}, ${place}`, { type: 'window', timeMs: endMs, window: { endMs, throughput, tenants } })
  })
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
  const samplesOf = (window: Fields) => Number(window['samples'])
  const completed = timeMs.map((time) => completedAt(windows, time!, samplesOf))
  const recording = {
    durationMs: timeMs.at(-1)!,
    power: { timeMs, powerCapW, sensorW, ...(trueW ? { trueW } : {}) },
    completed,
    actuations: [],
  } as unknown as RunRecording
  return opened(String(record['algorithm']), String(record['board']), recording, frames)
}

/**
 * Returns the number of samples that were completed until a time. A matrix record has only one value per window, so
 * samples are spread evenly over their window.
 */
function completedAt(windows: readonly Fields[], timeMs: number, samplesOf: (window: Fields) => number): number {
  let sum = 0
  for (const window of windows) {
    const [startMs, endMs] = [Number(window['startMs']), Number(window['endMs'])]
    if (startMs >= timeMs) break
    sum += samplesOf(window) * Math.min(1, (timeMs - startMs) / (endMs - startMs))
  }
  return sum
}

function parsed(place: string, text: string): Fields {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw new InvalidInputError(place, text.slice(0, 60), 'a record of a run as JSON', { cause: error })
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw new InvalidInputError(place, json, 'an object')
  return json as Fields
}

/** Returns the display name of a board; an unknown board keeps its name in the record. */
function boardName(board: string): string {
  try {
    return findGpuSpec(board).name
  } catch {
    return board
  }
}
