import { shellWord } from '../plan/shell-word.js'
import { firstRun, type RunQuestion } from './run-question.js'

const SCHEDULE_FILE = 'caps.csv'

/** Returns the commands that repeat the runs, one for each policy. */
export function runCommands({ board, model, caps, policies, seed, durationS }: RunQuestion): string {
  const cap = caps.length === 1 ? `--power-cap ${caps[0]!.powerCapW}` : `--cap-schedule ${SCHEDULE_FILE}`
  const seeds = seed === firstRun.seed ? '' : ` --seed ${seed}`
  return policies
    .map(
      (policy) =>
        `npx pctodl run --backend sim --gpu ${shellWord(board)} --model ${shellWord(model)} --algorithm ${policy} ${cap} --duration ${durationS}${seeds}`,
    )
    .join('\n')
}

/** Returns the file for `--cap-schedule`; undefined if the cap does not change during the run. */
export function scheduleFile({ caps }: RunQuestion): { readonly name: string; readonly text: string } | undefined {
  if (caps.length === 1) return undefined
  const rows = caps.map(({ powerCapW, atS }) => `${atS},${powerCapW}`)
  return { name: SCHEDULE_FILE, text: `time_s,power_cap_w\n${rows.join('\n')}\n` }
}
