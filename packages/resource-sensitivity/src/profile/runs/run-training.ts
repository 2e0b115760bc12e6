import { readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { InvalidInputError } from '@pctodl/platform'
import { ProfiledRunError } from '../../errors.js'
import { parseReportFile, parseReportLines, type RunReport } from '../run-report.js'
import { type ContainerOptions, containerCommand, removeContainer } from './container.js'
import { withCpus } from './cpu-affinity.js'
import { createMemoryGroup } from './memory-group.js'
import { launchCommand, type TrainingJob } from './training-command.js'

export interface RunSetting {
  readonly job: TrainingJob
  /** Cores available to runs, in this order. */
  readonly cpus: readonly number[]
  readonly memoryGb: number | null
  /** Parent of the memory groups; `null` for the root of the cgroup mount. */
  readonly cgroup: string | null
  readonly container: ContainerOptions | null
  readonly workingFolder: string
  /** Time limit of a run; a longer one is ended and counts as failed. */
  readonly timeoutS: number
  readonly env: Readonly<Record<string, string | undefined>>
}

let containers = 0

/**
 * Run the job once on its first `count` cores and read its report.
 *
 * @throws ProfiledRunError if it fails, takes too long or reports nothing usable
 * @throws LimitUnavailableError if the limits cannot be set: nothing was run then
 */
export async function runTraining(setting: RunSetting, count: number, signal?: AbortSignal): Promise<RunReport> {
  signal?.throwIfAborted()
  const { job, container, memoryGb, workingFolder } = setting
  if (count > setting.cpus.length) {
    throw new InvalidInputError('cpus', count, `at most ${setting.cpus.length}, the cores available to this process`)
  }
  const { command, env } = launchCommand(job, Math.floor(count / job.gpus))
  const reportFile = path.join(workingFolder, `PERF_${job.name}.txt`)
  // Remove the report of an earlier run.
  rmSync(reportFile, { force: true })
  if (container !== null) {
    const name = `pctodl-${process.pid}-${containers++}`
    const words = containerCommand(command, container, {
      name,
      cpus: setting.cpus.slice(0, count),
      memoryGb,
      workingFolder,
      env,
    })
    try {
      return readReport(await start(words, {}, setting, signal), reportFile)
    } finally {
      await removeContainer(container.runtime, name)
    }
  }
  const pinned = withCpus(command, setting.cpus, count, setting.env['PATH'] ?? '')
  if (memoryGb === null) return readReport(await start(pinned, env, setting, signal), reportFile)
  const group = setting.cgroup === null ? createMemoryGroup(memoryGb) : createMemoryGroup(memoryGb, setting.cgroup)
  try {
    return readReport(await start(group.wrap(pinned), env, setting, signal), reportFile)
  } finally {
    await group.release()
  }
}

async function start(
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  { workingFolder, timeoutS, env: outer }: RunSetting,
  signal: AbortSignal | undefined,
): Promise<string> {
  const [program, ...args] = words as [string, ...string[]]
  // A separate process group, so that data loaders end with the job.
  const { execa } = await import('execa')
  const child = execa(program, args, {
    cwd: workingFolder,
    env: { ...outer, ...env },
    extendEnv: false,
    stdin: 'ignore',
    detached: true,
    reject: false,
    maxBuffer: 64 * 2 ** 20,
  })
  let late = false
  const end = () => {
    if (child.pid === undefined) return
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // The whole group has ended.
    }
  }
  const timer = setTimeout(() => {
    late = true
    end()
  }, timeoutS * 1000)
  signal?.addEventListener('abort', end, { once: true })
  try {
    const result = await child
    signal?.throwIfAborted()
    const shown = words.join(' ')
    if (late) throw new ProfiledRunError(shown, `did not end within ${timeoutS} s`)
    if (result.exitCode !== 0) {
      const last = result.stderr.trim().split('\n').slice(-5).join('\n')
      const ended = result.exitCode === undefined ? result.shortMessage : `ended with exit code ${result.exitCode}`
      throw new ProfiledRunError(shown, `${ended}${last === '' ? '' : `; its output:\n${last}`}`)
    }
    return result.stdout
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', end)
    end()
  }
}

function readReport(output: string, reportFile: string): RunReport {
  const told = parseReportLines(output)
  if (told !== null) return told
  let text: string
  try {
    text = readFileSync(reportFile, 'utf8')
  } catch (error) {
    throw new ProfiledRunError(
      'the run',
      `left no report: neither ${reportFile} nor lines {"iteration": n, "seconds": s} on standard output`,
      { cause: error },
    )
  }
  return parseReportFile(text, reportFile)
}
