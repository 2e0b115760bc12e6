import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { TritonService } from '../src/config.js'

const BATCH_MS = 4
/** Its own clock, which no test replaces. */
const now = performance.now.bind(performance)

/** Answers what Triton would of a model `m` with steady requests, one a batch. */
export class TritonStandIn {
  /** Before it answers, ms. */
  delayMs = 0
  /** It then refuses all but its metrics, as Triton does. */
  drains = false
  /** What is restricted: PyTriton hides `stats` by default. */
  hidden = ''
  ratePerS = 100
  /** The model whose waiting requests it counts. */
  counted = 'm'
  maxBatchSize = 8
  #server: Server | undefined
  #port = 0
  #startedMs = now()
  readonly #asked = new Map<string, number>()
  /** All connections since its first start. */
  readonly sockets: Socket[] = []

  /** Number of requests for a path. */
  asked(url: string): number {
    return this.#asked.get(url) ?? 0
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** Configuration of a service that uses it. */
  service(name: string): TritonService {
    const { url } = this
    const objective = { ms: 60, attainment: 0.99 }
    const model = { limits: `${url}/v2/models/m/config`, stats: `${url}/v2/models/m/stats`, model: 'm' }
    return { name, triton: url, metrics: `${url}/metrics`, ...model, objective }
  }

  /** Its counters begin at 0. */
  async start(): Promise<void> {
    this.#startedMs = now()
    const server = createServer(async ({ url }, response) => {
      this.#asked.set(url!, this.asked(url!) + 1)
      if (this.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.delayMs))
      if (this.drains && url !== '/metrics') return void response.destroy()
      if (this.hidden !== '' && url?.endsWith(`/${this.hidden}`)) response.writeHead(403)
      response.end(this.#answer(url ?? ''))
    })
    server.on('connection', (socket) => this.sockets.push(socket))
    this.#server = server
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (server.address() as AddressInfo).port
  }

  async stop(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server === undefined) return
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }

  #answer(url: string): string {
    const count = Math.floor((this.ratePerS * (now() - this.#startedMs)) / 1000)
    if (url === '/metrics') return `nv_inference_pending_request_count{model="${this.counted}",version="1"} 0\n`
    if (url.endsWith('/config'))
      return JSON.stringify({ max_batch_size: this.maxBatchSize, dynamic_batching: {}, instance_group: [{ count: 1 }] })
    if (!url.endsWith('/stats')) return ''
    const ran = { count, ns: 1e6 * BATCH_MS * count }
    const none = { count: 0, ns: 0 }
    const stats = {
      inference_stats: { success: ran, fail: none, queue: { count, ns: 0 } },
      batch_stats: [{ batch_size: 1, compute_infer: ran }],
    }
    return JSON.stringify({ model_stats: [{ name: 'm', version: '1', ...stats }] })
  }
}
