import { attachProcess, CudaError } from './attached-process.js'
import type { CountersReply } from './control-protocol.js'
import type { MessageClient } from './message-socket.js'

export interface TenantCommandOptions {
  readonly model: string
  readonly batchSize: number
  /** Running time, ms. Default: until a signal arrives or the host ends. */
  readonly durationMs?: number
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
  /** Commands to the running process, one per line: `batch <size>`. Default: none. */
  readonly commands?: AsyncIterable<string>
  print(line: string): void
}

const mpsFailures: Readonly<Record<number, string>> = {
  806: 'the MPS server is gone',
  810: 'the MPS server terminated this client',
}

/**
 * Runs a process that uses the simulated board like an inference process uses a real one. It reads the MPS variables
 * and `CUDA_VISIBLE_DEVICES` once at the start, stays attached to the board until it ends, and prints its counters
 * every second.
 *
 * @throws BoardUnavailableError outside a simulated host
 * @throws CudaError if the board or the MPS server refuses or disconnects the process
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
  const wanted = { name: `pctodl sim tenant ${model}`, model, batchSize }
  const { client, attached } = await attachProcess(environment, wanted)
  try {
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

/** Executes commands from the input until the input or the connection ends. An invalid command gets an error line. */
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
