import { join } from 'node:path'
import { PctodlError } from '@pctodl/platform'
import type { AttachReply, CountersReply } from './control-protocol.js'
import { BoardUnavailableError } from './host-errors.js'
import { controlSocket } from './host-folder-layout.js'
import { MessageClient } from './message-socket.js'

export interface TenantCommandOptions {
  readonly model: string
  readonly batchSize: number
  /** End after this time; without it, run until a signal or the end of the host. */
  readonly durationMs?: number
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
  /** Commands to a running process, one a line: `batch <size>`. Default: none. */
  readonly commands?: AsyncIterable<string>
  print(line: string): void
}

const mpsFailures: Readonly<Record<number, string>> = {
  806: 'the MPS server is gone',
  810: 'the MPS server terminated this client',
}

/** The process could not get, or keep, its place on the board. */
export class CudaError extends PctodlError {
  readonly cudaError: number

  constructor(cudaError: number, message: string) {
    super('CUDA_ERROR', `CUDA error ${cudaError}: ${message}`)
    this.cudaError = cudaError
  }
}

/**
 * A process that uses the simulated board as an inference process uses a real one: it reads the MPS variables and
 * `CUDA_VISIBLE_DEVICES` once, at start, holds its place for as long as it lives, and prints its counters every second.
 *
 * @throws BoardUnavailableError outside a simulated host
 * @throws CudaError where the board or the MPS server refuses it, or cuts it off
 */
export async function runTenant({
  model,
  batchSize,
  durationMs,
  environment,
  signal,
  commands,
  print,
}: TenantCommandOptions): Promise<void> {
  const folder = environment['PCTODL_GPU_SIM_FOLDER']
  if (!folder)
    throw new BoardUnavailableError('no simulated host; start one with: pctodl sim host --gpu 3080Ti -- <command>')
  const client = await MessageClient.open(controlSocket(folder)).catch((cause) => {
    throw new BoardUnavailableError('the simulator has ended', { cause })
  })
  try {
    const attached = await client.request<AttachReply>({
      kind: 'attach',
      pid: process.pid,
      uid: process.getuid?.() ?? 0,
      name: `pctodl sim tenant ${model}`,
      gpu: (environment['CUDA_VISIBLE_DEVICES'] || '0').split(',')[0]!,
      pipeDirectory: environment['CUDA_MPS_PIPE_DIRECTORY'] ?? join('/tmp', 'nvidia-mps'),
      tenant: { model, batchSize, mpsPercent: Number(environment['CUDA_MPS_ACTIVE_THREAD_PERCENTAGE'] ?? 100) },
    })
    if (attached.cudaError) throw new CudaError(attached.cudaError, attached.message)
    print(JSON.stringify({ attached: true, mps: attached.isMpsClient, mpsPercent: attached.mpsPercent }))
    if (commands) void obey(commands, client, print)
    const endMs = performance.now() + (durationMs ?? Number.POSITIVE_INFINITY)
    while (!signal.aborted && performance.now() < endMs) {
      await pause(Math.min(1000, endMs - performance.now()), signal)
      const { cudaError, failureKind, ...counters } = await client.request<CountersReply>({ kind: 'counters' })
      if (counters.state === 'failed') print(JSON.stringify(counters))
      if (failureKind === 'killed') process.kill(process.pid, 'SIGKILL')
      if (cudaError) throw new CudaError(cudaError, counters.failure ?? mpsFailures[cudaError] ?? 'unknown error')
      print(JSON.stringify(counters))
    }
  } finally {
    client.close()
  }
}

/** Until the input ends or the connection does. What is no command is answered with an error line. */
async function obey(commands: AsyncIterable<string>, client: MessageClient, print: (line: string) => void) {
  for await (const line of commands) {
    if (line.trim() === '') continue
    const batchSize = Number(/^batch\s+(\d+)$/.exec(line.trim())?.[1] ?? Number.NaN)
    if (!(batchSize >= 1)) print(JSON.stringify({ error: `'${line}' is no command; known: batch <size>` }))
    else if (await client.request({ kind: 'batch-size', batchSize }).catch(() => 'closed')) return
  }
}

function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, durationMs)
    signal.addEventListener('abort', () => resolve(clearTimeout(timer)), { once: true })
  })
}
