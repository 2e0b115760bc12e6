import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { PctodlError } from '@pctodl/platform'
import { pageFile } from './page-file.js'

export interface ServedPage {
  /** URL to open in a browser. */
  readonly address: string
  close(): Promise<void>
}

/**
 * Host names under which the page may be requested. Names of other websites that resolve to this machine are rejected.
 */
const ownNames = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * Serves the playground to browsers on this machine only.
 *
 * @param port 0 for any free port
 * @throws PctodlError `PORT_IN_USE`, `NOT_BUILT`
 */
export async function servePage(port: number): Promise<ServedPage> {
  const page = readFileSync(pageFile())
  const zipped = gzipSync(page)
  const server = createServer(({ method, url = '', headers }, response) => {
    const asked = headers.host?.replace(/:\d+$/, '') ?? ''
    if (!ownNames.has(asked)) response.writeHead(421).end()
    else if (method !== 'GET' && method !== 'HEAD') response.writeHead(405, { allow: 'GET, HEAD' }).end()
    else if (!/^\/(index\.html)?(\?|$)/.test(url)) response.writeHead(404).end()
    else {
      const zips = acceptsGzip(headers['accept-encoding'])
      const body = zips ? zipped : page
      response.writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        'content-length': body.length,
        'cache-control': 'no-cache',
        vary: 'accept-encoding',
        'x-content-type-options': 'nosniff',
        ...(zips ? { 'content-encoding': 'gzip' } : {}),
      })
      response.end(method === 'HEAD' ? undefined : body)
    }
  })
  await listening(server, port)
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/**
 * Whether a request accepts gzip. By RFC 9110, 12.5.3, the weight of `gzip` counts or, without it, the weight of `*`.
 * Weight 0 means not acceptable.
 */
function acceptsGzip(header = ''): boolean {
  const weights = new Map<string, number>()
  for (const part of header.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((word) => word.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    weights.set(coding, weight === undefined ? 1 : Number(weight.slice(2)))
  }
  return (weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0) > 0
}

function listening(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const { code, message } = error
      reject(
        code === 'EADDRINUSE' || code === 'EACCES'
          ? new PctodlError(
              'PORT_IN_USE',
              `--port ${port} cannot be had (${message}); choose another, or 0 for any that is free`,
            )
          : error,
      )
    })
    server.listen(port, '127.0.0.1', resolve)
  })
}
