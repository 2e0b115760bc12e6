import http from 'node:http'
import https from 'node:https'

/** Maximum size of an answer, bytes. If it is exceeded, the server counts as not answering. */
const MAX_BYTES = 4 * 1024 * 1024
const agents = { http: new http.Agent({ keepAlive: true }), https: new https.Agent({ keepAlive: true }) }

export interface Answer {
  readonly status: number
  readonly text: string
}

/**
 * Reads pages, each once per round, because services of one server share its metrics. It uses `http.get`, because
 * `fetch` takes four times the CPU time, and this code runs several times a second.
 */
export class HttpReader {
  readonly #answers = new Map<string, Promise<Answer>>()

  /** Begins a round: pages are read again. */
  next(): void {
    this.#answers.clear()
  }

  /** @throws Error if the server does not answer in time */
  get(address: string, timeoutMs: number): Promise<Answer> {
    const answer = this.#answers.get(address) ?? request(address, timeoutMs)
    this.#answers.set(address, answer)
    return answer
  }
}

function request(address: string, timeoutMs: number): Promise<Answer> {
  const isTls = address.startsWith('https:')
  return new Promise((resolve, reject) => {
    const sent = (isTls ? https : http).get(address, { agent: isTls ? agents.https : agents.http }, (answer) => {
      const chunks: Buffer[] = []
      let bytes = 0
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        chunks.push(chunk)
        if (bytes > MAX_BYTES) sent.destroy(new Error(`${address} answers with more than ${MAX_BYTES} bytes`))
      })
      answer.on('error', reject)
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }))
    })
    const late = () => sent.destroy(new Error(`${address} did not answer within ${timeoutMs} ms`))
    const timer = setTimeout(late, timeoutMs)
    sent.on('error', reject)
    sent.on('close', () => clearTimeout(timer))
  })
}
