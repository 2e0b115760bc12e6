import { InvalidInputError } from '@pctodl/platform'
import type { RunRecord } from './run-record.js'

const RECORD_VERSION = 1

/** Formats a record as one line of JSON, for `parseRunRecord`. */
export function formatRunRecord(record: RunRecord): string {
  return `${JSON.stringify({ recordVersion: RECORD_VERSION, ...record })}\n`
}

/**
 * Parses a record of a run.
 * @throws InvalidInputError with the file name if the text is not a record of this version
 */
export function parseRunRecord(text: string, file: string): RunRecord {
  let json: Partial<RunRecord & { recordVersion: unknown }> | null
  try {
    json = JSON.parse(text)
  } catch {
    json = null
  }
  const { recordVersion, ...record } = json ?? {}
  if (recordVersion !== RECORD_VERSION || !Array.isArray(record.windows)) {
    const expected = `the record of a run in JSON, of version ${RECORD_VERSION}; run it again`
    throw new InvalidInputError(file, text.slice(0, 40), expected)
  }
  return {
    ...(record as RunRecord),
    windows: record.windows.map((window) => ({ ...window, startedAt: new Date(window.startedAt) })),
  }
}
