import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Terminal } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import { boardStatus } from './board-status.js'
import { type BoardOptions, openNvml, printJson, readBoards } from './open-boards.js'
import { prometheusText } from './prometheus.js'

export interface ServeOptions extends BoardOptions {
  readonly port: number
  readonly host: string
}

/** Serves metrics until it is interrupted. Boards are read only when a request arrives. */
export async function serve(options: ServeOptions, terminal: Terminal): Promise<number> {
  const nvml = await openNvml(options, terminal)
  const read = () => readBoards(nvml, options, (device) => boardStatus(device, options.leaseDir))
  const { boards, unreadable } = read()
  const answer: RequestListener = (request, response) => {
    // Do not use `new URL`, which throws if the request target is not a valid URL.
    const [pathname] = (request.url ?? '/').split('?')
    if (request.method !== 'GET') return void response.writeHead(405, { allow: 'GET' }).end()
    if (pathname !== '/metrics') return void response.writeHead(404).end('see /metrics\n')
    try {
      const { boards, unreadable } = read()
      const text = prometheusText(
        boards,
        unreadable.map(({ gpu }) => gpu),
      )
      response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text)
    } catch (error) {
      // If the driver is lost, the server continues and answers the scrape with the error.
      response
        .writeHead(503, { 'content-type': 'text/plain' })
        .end(`${error instanceof Error ? error.message : error}\n`)
    }
  }
  const server = createServer(answer)
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new PctodlError('CANNOT_LISTEN', `cannot listen on ${options.host}:${options.port}: ${cause.message}`, {
          cause,
        }),
      ),
    )
    server.listen(options.port, options.host, resolve)
  })
  const { address, port } = server.address() as AddressInfo
  const url = `http://${address.includes(':') ? `[${address}]` : address}:${port}/metrics`
  if (options.json) printJson(terminal, { url })
  else terminal.stdout.write(`metrics of ${boards.length + unreadable.length} boards at ${url}\n`)
  try {
    if (!terminal.signal.aborted) {
      await new Promise<void>((resolve) => terminal.signal.addEventListener('abort', () => resolve(), { once: true }))
    }
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return 0
}
