import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type CommandFunction, newCommand, parseCommand, UsageError } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import { version } from '../../package.json'

interface RawOptions {
  readonly out: string
  readonly python: string
  readonly json?: boolean
}

/** What the script prints. */
interface ImportReport {
  readonly sets: readonly string[]
  readonly skipped: readonly { readonly set: string; readonly reason: string }[]
}

/** The command line `pctodl-import-upstream` as a function. */
export const importUpstream: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'pctodl-import-upstream',
      version,
      description:
        "Convert upstream's fitted parameters (.pth, .pkl, .json) into the JSON that reference mode reads. A pickle is a program: it is read without running any of it, and whatever names a class that upstream's files do not need is refused.",
      example: 'pctodl-import-upstream fitting_results --out published',
    },
    terminal,
  )
    .argument('<folder>', "upstream's fitting_results")
    .option('--out <folder>', 'where to write', 'published')
    .option('--python <program>', 'Python 3.8 or later, no packages needed', 'python3')
    .option('--json', 'print a JSON report on standard output')
  await parseCommand(command, argv)
  const folder = command.args[0]!
  const { out, python, json = false } = command.opts<RawOptions>()
  if (!existsSync(folder)) throw new UsageError(`${folder} is not there; name upstream's fitting_results`)
  const report = await runScript(python, [folder, out], terminal.signal)
  for (const { set, reason } of report.skipped) terminal.stderr.write(`left out: ${set}: ${reason}\n`)
  if (report.sets.length + report.skipped.length === 0) {
    throw new PctodlError(
      'IMPORT_FAILED',
      `${folder} holds no <model>/throughput_params_..._mem<MHz>.json; name upstream's fitting_results`,
    )
  }
  const files = report.sets.map((file) => path.join(out, file))
  terminal.stdout.write(
    json
      ? `${JSON.stringify({ folder: out, files, skipped: report.skipped }, null, 2)}\n`
      : `${files.length} sets written to ${out}, ${report.skipped.length} left out\n`,
  )
  return files.length > 0 ? 0 : 1
}

async function runScript(python: string, argv: readonly string[], signal: AbortSignal): Promise<ImportReport> {
  const child = spawn(python, ['-I', scriptFile(), ...argv], { stdio: ['ignore', 'pipe', 'pipe'], signal })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  }).catch((cause: NodeJS.ErrnoException) => {
    signal.throwIfAborted()
    throw new PctodlError('PYTHON_MISSING', `${python} cannot be started; name a Python 3.8 or later by --python`, {
      cause,
    })
  })
  try {
    return JSON.parse(stdout) as ImportReport
  } catch (cause) {
    const reason = stderr.trim().split('\n').at(-1) || `exit code ${code}`
    throw new PctodlError('IMPORT_FAILED', `${python} could not convert ${argv[0]}: ${reason}`, { cause })
  }
}

/** Beside the sources and beside what is built of them. */
function scriptFile(): string {
  const here = import.meta.url ? path.dirname(fileURLToPath(import.meta.url)) : __dirname
  for (const up of ['..', '../..']) {
    const file = path.join(here, up, 'python', 'import_upstream.py')
    if (existsSync(file)) return file
  }
  throw new PctodlError('NOT_BUILT', 'import_upstream.py is missing; install @pctodl/perf-model again')
}
