import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Evaluation, evaluate, RunRecorder, type RunRecording } from '@pctodl/report/evaluate'
import type { RunEvent } from '@pctodl/scheduler'
import { bundleHostWorker } from '../../backend/test/bundle-host-worker.js'
import { buildPrograms, startHost } from '../../sim-host/test/built-host.js'

export interface HostRunOptions {
  readonly board: string
  readonly model: string
  /** Seconds and watts. */
  readonly caps: readonly (readonly [atS: number, powerCapW: number])[]
  readonly durationS: number
  /** Further options of `pctodl run`. */
  readonly options?: readonly string[]
  readonly onLine?: (line: string) => void
}

export interface HostRun {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
  readonly events: readonly RunEvent[]
  /** By the true power of the board, read beside the run; the program sees only what NVML says. */
  readonly evaluation: Evaluation
  readonly recording: RunRecording
  /** After the run. */
  readonly clockLeft: string
  readonly processesLeft: string
}

/**
 * Run `pctodl run` in real time against a simulated host: real NVML calls, a real MPS daemon's life, and a process for each
 * tenant.
 */
export async function runOnHost(options: HostRunOptions): Promise<HostRun> {
  const scratch = mkdtempSync(path.join(tmpdir(), 'pctodl-run-on-host-'))
  const programs = await buildPrograms()
  try {
    await bundleHostWorker(scratch)
    const { env, host } = await startHost(programs.programs, { board: options.board })
    try {
      return await watchedRun(options, scratch, env, () => host.gpus[0]!.truth())
    } finally {
      await host.close()
    }
  } finally {
    programs.remove()
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function watchedRun(
  { model, caps, durationS, options = [], onLine = () => {} }: HostRunOptions,
  scratch: string,
  hostEnv: NodeJS.ProcessEnv,
  truth: () => { readonly energyJ: number; readonly powerW: number },
): Promise<HostRun> {
  const schedule = path.join(scratch, 'caps.csv')
  const log = path.join(scratch, 'run.csv')
  writeFileSync(schedule, `time_s,power_cap_w\n${caps.map((cap) => cap.join(',')).join('\n')}\n`)
  const worker = `${process.execPath} ${path.join(scratch, 'host-worker.cjs')}`
  const env = {
    ...hostEnv,
    PCTODL_MPS_DIR: path.join(scratch, 'mps'),
    PCTODL_LEASE_DIR: path.join(scratch, 'leases'),
    XDG_CACHE_HOME: path.join(scratch, 'cache'),
  }
  const child = spawn(
    process.execPath,
    [
      path.resolve(import.meta.dirname, '../../cli/bin/pctodl.js'),
      'run',
      ...['--backend', 'nvml', '--gpu', '0', '--worker', worker, '--model', model],
      ...['--cap-schedule', schedule, '--duration', String(durationS), '--log-file', log, '--json'],
      ...options,
    ],
    { env, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  // The truth is read by a clock of its own and laid beside the record by wall time.
  const seen: { readonly atMs: number; readonly energyJ: number }[] = []
  const reader = setInterval(() => seen.push({ atMs: Date.now(), energyJ: truth().energyJ }), 50)
  const { exitCode, stdout, stderr } = await ended(child, onLine)
  clearInterval(reader)
  const events = readFileSync(log.replace('.csv', '.events.jsonl'), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as RunEvent)
  const recording = withTruth(events, seen)
  const smi = async (query: string) => {
    const queried = spawn('nvidia-smi', [query, '--format=csv,noheader'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    return (await ended(queried, () => {})).stdout.trim()
  }
  return {
    exitCode,
    stdout,
    stderr,
    events,
    recording,
    evaluation: evaluate(recording),
    clockLeft: await smi('--query-gpu=clocks.sm'),
    processesLeft: await smi('--query-compute-apps=pid'),
  }
}

function withTruth(events: readonly RunEvent[], seen: readonly { atMs: number; energyJ: number }[]): RunRecording {
  const start = events[0]
  const startedMs = start?.type === 'run-start' ? Date.parse(start.startedAt) : 0
  let now = startedMs
  const energyAt = (atMs: number) => {
    const next = seen.findIndex((reading) => reading.atMs >= atMs)
    if (next <= 0) return seen.at(next)?.energyJ ?? 0
    const [a, b] = [seen[next - 1]!, seen[next]!]
    return a.energyJ + ((b.energyJ - a.energyJ) * (atMs - a.atMs)) / Math.max(1, b.atMs - a.atMs)
  }
  const recorder = new RunRecorder(() => energyAt(now))
  for (const event of events) {
    now = startedMs + event.timeMs
    recorder.add(event)
  }
  return recorder.recording()
}

function ended(
  child: ChildProcess,
  onLine: (line: string) => void,
): Promise<{ readonly exitCode: number | null; readonly stdout: string; readonly stderr: string }> {
  const text = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]!.setEncoding('utf8').on('data', (chunk: string) => {
      text[name] += chunk
      if (name === 'stderr') for (const line of chunk.split('\n')) if (line !== '') onLine(line)
    })
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (exitCode) => resolve({ exitCode, ...text }))
  })
}
