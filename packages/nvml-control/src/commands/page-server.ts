import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { PctodlError } from '@pctodl/platform'
import { reasonOf } from '../reason-of.js'

/** Maximum number of connections. Any local user may connect; a further connection closes the oldest one. */
const MAX_CONNECTIONS = 16
/** Time within which a client must send its request, ms. Otherwise its connection is closed. */
const PATIENCE_MS = 5000

export interface Page {
  readonly text: string
  readonly status?: number
}

/**
 * Serves pages of text by their paths, such as metrics for Prometheus. Pages are made when they are requested, and
 * requests change nothing. If a page cannot be made, the answer is 503 with the reason.
 */
export class PageServer {
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  /** @throws PctodlError `CANNOT_LISTEN` if the address is not available */
  static async start(
    { host, port }: { readonly host: string; readonly port: number },
    pages: Readonly<Record<string, () => Page | Promise<Page>>>,
  ): Promise<PageServer> {
    const patience = { headersTimeout: PATIENCE_MS, requestTimeout: PATIENCE_MS, keepAliveTimeout: PATIENCE_MS }
    const server = createServer({ ...patience, connectionsCheckingInterval: 1000 }, async (request, response) => {
      if (request.method !== 'GET') return void response.writeHead(405, { allow: 'GET' }).end()
      // `URL` is not used, because it throws if the request target is not a valid URL.
      const [pathname = '/'] = (request.url ?? '/').split('?')
      const make = Object.hasOwn(pages, pathname) ? pages[pathname] : undefined
      if (!make) return void response.writeHead(404).end(`see ${Object.keys(pages).join(', ')}\n`)
      try {
        const { status = 200, text } = await make()
        response.writeHead(status, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text)
      } catch (error) {
        response.writeHead(503, { 'content-type': 'text/plain' }).end(`${reasonOf(error)}\n`)
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
    await once(server.listen(port, host), 'listening').catch((cause) => {
      throw new PctodlError('CANNOT_LISTEN', `cannot listen on ${host}:${port}: ${reasonOf(cause)}`, { cause })
    })
    return new PageServer(server)
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
