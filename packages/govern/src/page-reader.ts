import http from 'node:http'
import https from 'node:https'
import { PctodlError } from '@pctodl/platform'

/** A page that is longer counts as no answer. A server's metrics have some hundred thousand characters. */
const MAX_LENGTH = 16 * 1024 ** 2
const ALLOW =
  'allow it from this host; for Triton, leave statistics and model-config out of --http-restricted-api (PyTriton: TritonSecurityConfig.restricted_endpoints)'

/** @throws PctodlError if access is restricted; Error if the server does not answer in time, or with another status */
export type PageReader = (address: string) => Promise<string>

/** Connections are kept for this time only, ms: Triton waits with its shutdown until they are closed, for up to 30 s. */
const KEPT_MS = 2000
const connections = new http.Agent({ keepAlive: true })
let closedMs = performance.now()

/** Creates a reader that requests each page only once, because services of one server share its metrics. */
export function pageReader(timeoutMs: number): PageReader {
  const pages = new Map<string, Promise<string>>()
  if (performance.now() - closedMs > KEPT_MS) {
    // Not those in use: another governor of this process may wait for an answer.
    for (const socket of Object.values(connections.freeSockets).flat()) socket?.destroy()
    closedMs = performance.now()
  }
  return (address) => {
    const page = pages.get(address) ?? request(address, timeoutMs)
    pages.set(address, page)
    return page
  }
}

/** Uses `http.get`, because `fetch` takes four times the CPU time, and this code runs several times a second. */
function request(address: string, timeoutMs: number): Promise<string> {
  const isSecure = address.startsWith('https:')
  const options = isSecure ? {} : { agent: connections }
  return new Promise((resolve, reject) => {
    const sent = (isSecure ? https : http).get(address, options, (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (part: string) => {
        text += part
        if (text.length > MAX_LENGTH) sent.destroy(new Error(`${address} answers more than ${MAX_LENGTH} characters`))
      })
      answer.on('error', reject)
      answer.on('end', () => {
        const { location, 'content-encoding': encoding } = answer.headers
        const cause = `${address} answers ${answer.statusCode}${location ? `, see ${location}` : ''}`
        if (encoding) reject(new Error(`${address} answers with Content-Encoding ${encoding}; turn compression off`))
        else if (answer.statusCode === 200) resolve(text)
        else if (answer.statusCode !== 401 && answer.statusCode !== 403) reject(new Error(cause))
        else reject(new PctodlError('ENDPOINT', `${cause}, access is restricted; ${ALLOW}`))
      })
    })
    const late = () => sent.destroy(new Error(`${address} did not answer within ${timeoutMs} ms`))
    const timer = setTimeout(late, timeoutMs)
    sent.on('error', reject)
    sent.on('close', () => clearTimeout(timer))
  })
}
