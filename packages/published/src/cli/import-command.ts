import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { jsonText, type Terminal, UsageError } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'

export interface ImportOptions {
  readonly out: string
  readonly python: string
  readonly json?: boolean
}

/** JSON summary that the Python conversion script prints. */
interface ImportReport {
  readonly sets: readonly string[]
  readonly skipped: readonly { readonly set: string; readonly reason: string }[]
}

/**
 * `pctodl published import`: converts the parameter files of PctoDL's Python code (.pth, .pkl, .json) to the JSON that
 * `loadPublishedParameters` reads.
 */
export async function importParameters(
  folder: string,
  { out, python, json = false }: ImportOptions,
  terminal: Terminal,
): Promise<number> {
  if (!existsSync(folder)) throw new UsageError(`${folder} is not there; name the Python code's fitting_results`)
  const report = await runScript(python, [folder, out], terminal.signal)
  for (const { set, reason } of report.skipped) terminal.stderr.write(`left out: ${set}: ${reason}\n`)
  if (report.sets.length + report.skipped.length === 0) {
    throw new PctodlError(
      'IMPORT_FAILED',
      `${folder} holds no <model>/throughput_params_..._mem<MHz>.json; name the Python code's fitting_results`,
    )
  }
  const files = report.sets.map((file) => path.join(out, file))
  terminal.stdout.write(
    json
      ? jsonText({ folder: out, files, skipped: report.skipped })
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

/** Path of the Python conversion script. It differs between the TypeScript sources and the build. */
function scriptFile(): string {
  const here = import.meta.url ? path.dirname(fileURLToPath(import.meta.url)) : __dirname
  for (const up of ['..', '../..']) {
    const file = path.join(here, up, 'python', 'import_reference.py')
    if (existsSync(file)) return file
  }
  throw new PctodlError('NOT_BUILT', 'import_reference.py is missing; install @pctodl/published again')
}
