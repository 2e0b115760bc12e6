import { readFileSync } from 'node:fs'
import path from 'node:path'
import { exampleText, integerFrom, newSubcommand, type Terminal } from '@pctodl/command-line'
import type { Command } from 'commander'
import { requestOfSchedule, type ScheduleRequest } from '../execute/requests.js'
import { parseReplayCsv } from '../trace/replay-csv.js'

export const REQUESTS = 'requests'

export function addRequestCommands(parent: Command, terminal: Terminal): void {
  const workDir = ['--work-dir <folder>', 'work folder of the schedule'] as const
  const ask = (request: ScheduleRequest, folder: string) => {
    const file = requestOfSchedule(path.join(folder, REQUESTS), request)
    terminal.stdout.write(`requested: ${file}\n`)
  }
  const submit = newSubcommand(parent, 'submit', 'Submit jobs to a running schedule (see execute).', terminal)
    .requiredOption(...workDir)
    .requiredOption('--trace <csv>', 'lines id,model,arrival_s,iterations,gpus; the jobs arrive now')
    .addHelpText('after', exampleText('pctodl sensitivity submit --work-dir /shared/run-1 --trace more.csv'))
    .action(() => {
      const { workDir: folder, trace } = submit.opts<{ workDir: string; trace: string }>()
      const jobs = parseReplayCsv(readFileSync(trace, 'utf8'), trace)
      ask({ submit: jobs.map(({ id, model, iterations, gpus }) => ({ id, model, iterations, gpus })) }, folder)
    })
  const cancel = newSubcommand(parent, 'cancel', 'Cancel jobs of a running schedule (see execute).', terminal)
    .argument('<jobs...>', 'IDs of arrived jobs', (word, ids: number[] | undefined) => [
      ...(ids ?? []),
      integerFrom(0)(word),
    ])
    .requiredOption(...workDir)
    .addHelpText('after', exampleText('pctodl sensitivity cancel --work-dir /shared/run-1 3 7'))
    .action((ids: number[]) => ask({ cancel: ids }, cancel.opts<{ workDir: string }>().workDir))
}
