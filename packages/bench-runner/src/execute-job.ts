import { type CommandFunction, integerFrom, newCommand, parseCommand, UsageError } from '@pctodl/command-line'
import { cellLabel } from './cell.js'
import { executeCells } from './execute-cells.js'
import { readPlan } from './execution-plan.js'
import { ResultStore } from './result-store.js'

/**
 * Execute one job of a plan: what the processes of a parallel run and the elements of a Slurm array do. Exit code 0 also
 * where a cell failed: its failure is stored beside the results. Anything else is a job to be started again, which keeps
 * what it has already finished.
 */
export const executeJob: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'bench-runner execute',
      description: 'Execute one job of a plan that bench-runner has written.',
      example: 'bench-runner execute --plan plan.json --job 0',
    },
    terminal,
  )
    .requiredOption('--plan <file>', 'the plan')
    .requiredOption('--job <n>', 'index of the job', integerFrom(0))
  await parseCommand(command, argv)
  const raw = command.opts<{ plan: string; job: number }>()
  const { resultDir, failFast, timeoutMs, jobs } = readPlan(raw.plan)
  const cells = jobs[raw.job]
  if (!cells) throw new UsageError(`--job: the plan has the jobs 0 to ${jobs.length - 1}`)
  await executeCells(cells, new ResultStore(resultDir), {
    failFast,
    ...(timeoutMs === null ? {} : { timeoutMs }),
    signal: terminal.signal,
    onEnd: (cell, ending) => terminal.stdout.write(`${JSON.stringify({ label: cellLabel(cell), ending })}\n`),
  })
  return 0
}
