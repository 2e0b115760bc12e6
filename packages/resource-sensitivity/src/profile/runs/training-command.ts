import path from 'node:path'

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

const interpreters: Readonly<Record<string, string>> = {
  '.py': 'python3',
  '.js': 'node',
  '.mjs': 'node',
  '.cjs': 'node',
  '.sh': 'sh',
}

function interpreterOf(script: string): string[] {
  const interpreter = interpreters[path.extname(script)]
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
