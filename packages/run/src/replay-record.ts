import { jsonText, type Terminal, type TextOutput } from '@pctodl/command-line'
import { type Action, type Replay, type RunEvent, replayRun } from '@pctodl/scheduler'
import { experimentPolicy } from './experiment-policy.js'
import { readRecordedExperiment } from './recorded-experiment.js'
import type { ReplayCall } from './run-options.js'

const SHOWN_DIFFERENCES = 5

/**
 * Prints every decision of a recorded run with its reason. Then prints whether a new policy with the same options makes
 * the same decisions on the same observations.
 *
 * @returns the exit code: 1 if any decision differs
 */
export function replayRecord({ replay: file, json }: ReplayCall, { stdout }: Terminal): number {
  const { experiment, events } = readRecordedExperiment(file)
  const replay = replayRun(events, experimentPolicy(experiment))
  if (json) stdout.write(jsonText({ experiment, ...replay }))
  else {
    for (const event of events) {
      const line = lineOf(event)
      if (line !== undefined) stdout.write(`${(event.timeMs / 1000).toFixed(1).padStart(7)} s  ${line}\n`)
    }
    writeVerdict(replay, stdout)
  }
  return replay.differences.length > 0 ? 1 : 0
}

function lineOf(event: RunEvent): string | undefined {
  switch (event.type) {
    case 'cap':
      return `cap ${event.powerCapW} W`
    case 'action':
      return `${event.source}: ${changesOf(event.action)}: ${event.action.reason ?? ''}`
    case 'decision':
      return `${event.decision.kind}: ${event.decision.reason}`
    case 'refused':
      return `refused: ${event.message}`
    case 'granted':
      return `granted: ${event.setter} ${event.value ?? 'unlocked'}`
    case 'run-end':
      return `${event.outcome}${event.message === undefined ? '' : `: ${event.message}`}`
    default:
      return undefined
  }
}

function changesOf({ smClockMhz, memClockMhz, powerLimitW, tenants }: Action): string {
  const parts: string[] = []
  if (smClockMhz !== undefined) parts.push(`SM ${clockText(smClockMhz)}`)
  if (memClockMhz !== undefined) parts.push(`memory ${clockText(memClockMhz)}`)
  if (powerLimitW !== undefined) parts.push(`limit ${powerLimitW} W`)
  if (tenants !== undefined) parts.push(`tenants ${tenants.map((t) => `${t.mpsPercent} %/${t.batchSize}`).join(' ')}`)
  return parts.join(', ')
}

function clockText(clock: number | 'unlocked'): string {
  return clock === 'unlocked' ? clock : `${clock} MHz`
}

function writeVerdict({ samples, windows, actions, decisions, differences }: Replay, stdout: TextOutput): void {
  stdout.write(`\nReplayed ${samples} samples and ${windows} windows: ${actions} actions and ${decisions} decisions, `)
  if (differences.length === 0) {
    stdout.write('all as recorded.\n')
    return
  }
  stdout.write(`${differences.length} of them otherwise than recorded:\n`)
  for (const { timeMs, source, recorded, replayed } of differences.slice(0, SHOWN_DIFFERENCES)) {
    stdout.write(`  ${(timeMs / 1000).toFixed(1)} s, ${source}: recorded ${JSON.stringify(recorded)}\n`)
    stdout.write(`    replayed ${JSON.stringify(replayed)}\n`)
  }
}
