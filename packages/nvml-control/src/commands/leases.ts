import type { Terminal } from '@pctodl/command-line'
import { describeChange } from '../control/board-change.js'
import { type JournalError, LeaseFolder } from '../lease/lease-folder.js'
import type { LeaseRecord } from '../lease/lease-record.js'
import { changesBack, describeOutcome } from '../lease/restore.js'
import { putRight } from '../nvml-gpu.js'
import { type BoardOptions, leaseOptions, nvmlOf, printJson } from './open-boards.js'

interface LeaseEntry {
  readonly uuid: string
  readonly state: 'held' | 'left-behind' | 'unreadable'
  readonly holder: number | null
  readonly record: LeaseRecord | null
  readonly error?: string
}

/** Lists the leases that are held, and the journals that killed programs left behind. Changes nothing. */
export async function leases(options: BoardOptions, terminal: Terminal): Promise<number> {
  const folder = new LeaseFolder(options.leaseDir)
  const entries = folder.journaled().map((uuid): LeaseEntry => {
    const holder = folder.holder(uuid)
    const state = holder === null ? 'left-behind' : 'held'
    try {
      return { uuid, state, holder, record: folder.read(uuid) }
    } catch (error) {
      return { uuid, state: 'unreadable', holder, record: null, error: (error as JournalError).message }
    }
  })
  if (options.json) printJson(terminal, { folder: folder.path, leases: entries })
  else if (entries.length === 0) terminal.stdout.write(`no board is changed (${folder.path})\n`)
  else terminal.stdout.write(entries.map(text).join(''))
  return 0
}

function text({ uuid, state, holder, record, error }: LeaseEntry): string {
  if (!record) return `${uuid}: ${state}${error ? `: ${error}` : ''}\n`
  const who = state === 'held' ? `held by process ${holder}` : `left behind by process ${record.owner.pid}`
  const back = changesBack(record).map(describeChange).join(', ')
  const trouble = record.lastError ? `\n  last attempt: ${record.lastError}` : ''
  return `${uuid}: ${who} (${record.owner.program}) since ${record.acquiredAt}\n  to put back: ${back}${trouble}\n`
}

/** Restore the boards that killed programs left changed. @returns 1 if a board could not be restored */
export async function restoreCommand(options: BoardOptions, terminal: Terminal): Promise<number> {
  const nvml = nvmlOf(options)
  const outcomes = await putRight(nvml, leaseOptions(options))
  if (options.json) {
    printJson(
      terminal,
      outcomes.map((outcome) => ({ ...outcome, ...(outcome.error ? { error: String(outcome.error) } : {}) })),
    )
  } else if (outcomes.length === 0) terminal.stdout.write('nothing was left behind\n')
  else for (const outcome of outcomes) terminal.stdout.write(`${describeOutcome(outcome)}\n`)
  return outcomes.some(({ outcome }) => outcome === 'failed') ? 1 : 0
}
