import { readFileSync } from 'node:fs'
import { type CommandFunction, newCommand, parseCommand, UsageError } from '@pctodl/command-line'
import { given, InvalidInputError } from '@pctodl/platform'
import { version } from '../package.json'
import { type RunLog, runsOfLogs } from './page/runs-of-logs.js'
import { addReportOptions, type RawReportOptions, writeReports } from './page/write-report.js'
import { parseRunEvents } from './record/run-events.js'

/** The command `pctodl report`: turns logs of runs, from any program, into a page, Markdown and CSV. */
export const pctodlReport: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'pctodl report',
      version,
      description:
        'Judge and compare runs by their logs. Writes one self-contained page, Markdown, CSV and pictures.\n' +
        "Results of bench-runner have a report of their own, which knows the board's truth: bench-runner report FOLDER.",
      example: 'pctodl report run.events.jsonl mine=other.events.jsonl --out report',
    },
    terminal,
  )
    .argument('<logs...>', 'logs of pctodl run (FILE.events.jsonl); NAME=LOG names the run')
    .option('--out <folder>', 'where the report goes', './report')
  await parseCommand(addReportOptions(command), argv)
  const options = command.opts<RawReportOptions & { readonly out: string }>()
  return writeReports({ runs: runsOfLogs(command.args.map(readLog)) }, options, terminal)
}

function readLog(argument: string): RunLog {
  const [, algorithm, file = argument] = /^([^=/\\]+)=(.+)$/.exec(argument) ?? []
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    throw new UsageError(`${file}: not a file that can be read`)
  }
  const events = parseRunEvents(text, file)
  if (events[0]?.type !== 'run-start') {
    throw new InvalidInputError(`${file}, line 1`, events[0]?.type, "the log of a run, which begins with 'run-start'")
  }
  return { ...given({ algorithm }), events }
}
