import { readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { InvalidInputError } from '@pctodl/platform'
import { ProfiledRunError } from '../errors.js'
import { type ContainerOptions, containerCommand, createMemoryGroup, removeContainer, withCpus } from './run-limits.js'
import { parseReportFile, parseReportLines, type RunReport } from './run-report.js'

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
  if (count > setting.cpus.length) {
    throw new InvalidInputError('cpus', count, `at most ${setting.cpus.length}, the cores available to this process`)
  }
  const reportFile = path.join(setting.workingFolder, `PERF_${setting.job.name}.txt`)
  rmSync(reportFile, { force: true })
  const { words, env, release } = limited(setting, count)
  try {
    return readReport(await start(words, env, setting, signal), reportFile, setting.job.gpus)
  } finally {
    await release()
  }
}

/** The command of a job under its limits, in a container or directly. */
function limited({ job, container, cpus, memoryGb, cgroup, workingFolder, env: outer }: RunSetting, count: number) {
  const { command, env } = launchCommand(job, Math.floor(count / job.gpus))
  if (container !== null) {
    const name = `pctodl-${process.pid}-${containers++}`
    const limits = { name, cpus: cpus.slice(0, count), memoryGb, workingFolder, env }
    const words = containerCommand(command, container, limits)
    return { words, env: {}, release: () => removeContainer(container.runtime, name) }
  }
  const pinned = withCpus(command, cpus, count, outer['PATH'] ?? '')
  if (memoryGb === null) return { words: pinned, env, release: async () => {} }
  const group = createMemoryGroup(memoryGb, cgroup ?? undefined)
  return { words: group.wrap(pinned), env, release: () => group.release() }
}

async function start(
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  { workingFolder, timeoutS, env: outer }: RunSetting,
  signal: AbortSignal | undefined,
): Promise<string> {
  const [program, ...args] = words as [string, ...string[]]
  const { execa } = await import('execa')
  const child = execa(program, args, {
    ...{ cwd: workingFolder, env: { ...outer, ...env }, extendEnv: false, stdin: 'ignore', reject: false },
    // A separate process group, so that data loaders end with the job.
    detached: true,
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

function readReport(output: string, reportFile: string, processes: number): RunReport {
  const reported = parseReportLines(output, processes)
  if (reported !== null) return reported
  try {
    return parseReportFile(readFileSync(reportFile, 'utf8'), reportFile)
  } catch (error) {
    if (error instanceof ProfiledRunError) throw error
    throw new ProfiledRunError(
      'the run',
      `left no report: neither ${reportFile} nor lines {"iteration": n, "seconds": s} on standard output`,
      error,
    )
  }
}

/** A training script, its own arguments, and the profiler's settings for it. */
export interface TrainingJob {
  readonly name: string
  readonly script: string
  /** The script's own arguments, unchanged. */
  readonly args: readonly string[]
  readonly gpus: number
  readonly batchPerGpu: number
  readonly maxIterations: number
  readonly nodes: number
  readonly nodeRank: number
  readonly masterAddress: string
  readonly masterPort: number
}

/**
 * Command line of one process of a job. The profiler's options come last, so they override the script's own. With
 * several processes each also gets `--local_rank`, the same value as in `rankEnvironment`.
 */
export function trainingCommand(job: TrainingJob, workersPerGpu: number, localRank: number): string[] {
  return [
    ...interpreterOf(job.script),
    ...job.args,
    ...['--batch-size', String(job.batchPerGpu)],
    ...['--workers', String(workersPerGpu)],
    ...['--max-iterations', String(job.maxIterations)],
    ...['--job-name', job.name],
    ...(job.gpus * job.nodes > 1 ? ['--local_rank', String(localRank)] : []),
  ]
}

/** Environment variables that torch.distributed's launcher would set. */
function rankEnvironment(job: TrainingJob, localRank: number): Record<string, string> {
  return {
    MASTER_ADDR: job.masterAddress,
    MASTER_PORT: String(job.masterPort),
    WORLD_SIZE: String(job.gpus * job.nodes),
    RANK: String(job.nodeRank * job.gpus + localRank),
    LOCAL_RANK: String(localRank),
  }
}

/**
 * Returns one command for all processes of a job. A single process runs directly. Several run under a shell that waits
 * for each and fails if one does.
 */
export function launchCommand(
  job: TrainingJob,
  workersPerGpu: number,
): { command: string[]; env: Record<string, string> } {
  if (job.gpus === 1) return { command: trainingCommand(job, workersPerGpu, 0), env: rankEnvironment(job, 0) }
  const lines = Array.from({ length: job.gpus }, (_, rank) => {
    const env = Object.entries(rankEnvironment(job, rank)).map(([name, value]) => `${name}=${quote(value)}`)
    return `${env.join(' ')} ${trainingCommand(job, workersPerGpu, rank).map(quote).join(' ')} &\npids="$pids $!"`
  })
  const script = `pids=\n${lines.join('\n')}\nfor pid in $pids; do wait $pid || exit 1; done`
  return { command: ['sh', '-c', script], env: {} }
}

function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}

const interpreters = new Map(
  Object.entries({ '.py': 'python3', '.js': 'node', '.mjs': 'node', '.cjs': 'node', '.sh': 'sh' }),
)

function interpreterOf(script: string): string[] {
  const interpreter = interpreters.get(path.extname(script))
  return interpreter === undefined ? [script.includes('/') ? script : `./${script}`] : [interpreter, script]
}

/** Value of an option in a script's arguments; the last one if repeated. */
export function optionAmong(args: readonly string[], ...names: readonly string[]): string | null {
  let found: string | null = null
  args.forEach((word, i) => {
    for (const name of names) {
      if (word === name) found = args[i + 1] ?? null
      else if (name.startsWith('--') && word.startsWith(`${name}=`)) found = word.slice(name.length + 1)
    }
  })
  return found
}
