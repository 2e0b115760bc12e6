import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { ServiceStatus } from '@pctodl/nvml-control'
import { PctodlError } from '@pctodl/platform'
import { Registry } from 'prom-client'

/** Maximum number of connections. Any local user may connect; a further connection closes the oldest one. */
const MAX_CONNECTIONS = 16
/** Time within which a client must send its request, ms. After it, its connection is closed. */
const PATIENCE_MS = 5000
/**
 * Minimum time between two readings of the boards, ms. Requests that arrive meanwhile wait for the next reading and
 * share it.
 */
const BETWEEN_READINGS_MS = 250

/**
 * Serves `/metrics` for Prometheus, `/healthz` (does the service run?) and `/readyz` (can it lease boards?). Any client
 * may read these pages; requests change nothing.
 */
export class HealthServer {
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  /** @throws PctodlError `CANNOT_LISTEN` if the address is not available */
  static async start(
    { host, port }: { readonly host: string; readonly port: number },
    metrics: () => Promise<string>,
    status: () => ServiceStatus,
  ): Promise<HealthServer> {
    const read = shared(metrics)
    const patience = { headersTimeout: PATIENCE_MS, requestTimeout: PATIENCE_MS, keepAliveTimeout: PATIENCE_MS }
    const server = createServer({ ...patience, connectionsCheckingInterval: 1000 }, async (request, response) => {
      // `URL` is not used, because it throws if the request target is not a valid URL.
      const [pathname] = (request.url ?? '/').split('?')
      if (request.method !== 'GET') return void response.writeHead(405, { allow: 'GET' }).end()
      if (pathname === '/healthz') return void response.writeHead(200).end('ok\n')
      if (pathname === '/readyz') {
        const { ready, reasons } = status()
        return void response.writeHead(ready ? 200 : 503).end(ready ? 'ready\n' : `${reasons.join('\n')}\n`)
      }
      if (pathname !== '/metrics') return void response.writeHead(404).end('see /metrics, /healthz and /readyz\n')
      try {
        const text = await read()
        response.writeHead(200, { 'content-type': Registry.PROMETHEUS_CONTENT_TYPE }).end(text)
      } catch (error) {
        response.writeHead(500).end(`${error instanceof Error ? error.message : error}\n`)
      }
    })
    const open = new Set<Socket>()
    server.on('connection', (socket: Socket) => {
      open.add(socket)
      socket.once('close', () => open.delete(socket))
      const [oldest] = open
      if (open.size > MAX_CONNECTIONS) oldest?.destroy()
    })
    // The header timeout does not apply to a connection that sends nothing. This timeout closes it.
    server.timeout = PATIENCE_MS
    await new Promise<void>((resolve, reject) => {
      server.once('error', (cause) =>
        reject(new PctodlError('CANNOT_LISTEN', `cannot listen on ${host}:${port}: ${cause.message}`, { cause })),
      )
      server.listen(port, host, resolve)
    })
    return new HealthServer(server)
  }

  get url(): string {
    const { address, port } = this.#server.address() as AddressInfo
    return `http://${address.includes(':') ? `[${address}]` : address}:${port}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

/**
 * Limits how often `read` is called. Callers that wait share one reading, which starts after all of them have asked.
 */
function shared(read: () => Promise<string>): () => Promise<string> {
  let readAtMs = Number.NEGATIVE_INFINITY
  let next: Promise<string> | null = null
  let reading: Promise<unknown> = Promise.resolve()
  const wait = async () => {
    await reading
    const waitMs = Math.max(0, readAtMs + BETWEEN_READINGS_MS - performance.now())
    // Waits even if `waitMs` is 0, so that `next` is assigned before the code below clears it.
    await new Promise((resolve) => setTimeout(resolve, waitMs))
    readAtMs = performance.now()
    next = null
    const text = read()
    reading = text.catch(() => {})
    return text
  }
  return () => {
    next ??= wait()
    return next
  }
}
