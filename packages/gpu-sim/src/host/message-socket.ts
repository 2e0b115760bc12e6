import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'

/** One JSON value a line, both ways. */
export function onMessages(socket: Socket, handle: (message: unknown) => void): void {
  const lines = createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY })
  lines.on('line', (line) => {
    if (line !== '') handle(JSON.parse(line))
  })
  // Whoever is killed amid a reply ends its own connection, not the host: the socket's 'close' tells.
  lines.on('error', () => {})
}

export function send(socket: Socket, message: unknown): void {
  if (socket.writable) socket.write(`${JSON.stringify(message)}\n`)
}

/** A connection on which requests are answered in the order they were sent. */
export class MessageClient {
  readonly #socket: Socket
  readonly #waiting: { resolve(reply: unknown): void; reject(error: Error): void }[] = []
  #closed: Error | undefined
  /** Called for the loss of the connection, once. */
  onClose: () => void = () => {}

  private constructor(socket: Socket) {
    this.#socket = socket
    onMessages(socket, (message) => this.#waiting.shift()?.resolve(message))
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#closed = new Error('the connection was closed')
      for (const { reject } of this.#waiting.splice(0)) reject(this.#closed)
      this.onClose()
    })
  }

  /** @throws the system's error (ENOENT, ECONNREFUSED) where nobody listens */
  static open(path: string): Promise<MessageClient> {
    return new Promise((resolve, reject) => {
      const socket = connect(path)
      socket.once('error', reject)
      socket.once('connect', () => {
        socket.off('error', reject)
        resolve(new MessageClient(socket))
      })
    })
  }

  request<Reply>(message: unknown): Promise<Reply> {
    if (this.#closed) return Promise.reject(this.#closed)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve: resolve as (reply: unknown) => void, reject })
      send(this.#socket, message)
    })
  }

  close(): void {
    this.#socket.end()
  }
}
