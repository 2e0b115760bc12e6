import { connect, type Socket } from 'node:net'

/** Maximum length of a line, bytes. */
const MAX_LINE_BYTES = 1024 * 1024

/**
 * Calls `handle` with each received message. In both directions, each line is one JSON value. If a peer sends anything
 * else or is killed, only its own connection closes, and the socket emits 'close'.
 */
export function onMessages(socket: Socket, handle: (message: unknown) => void): void {
  let pending = ''
  socket.setEncoding('utf8')
  socket.on('data', (text: string) => {
    const lines = (pending + text).split('\n')
    pending = lines.pop()!
    try {
      for (const line of lines) if (line.trim() !== '' && !socket.destroyed) handle(JSON.parse(line))
      if (pending.length > MAX_LINE_BYTES) socket.destroy()
    } catch {
      socket.destroy()
    }
  })
}

export function send(socket: Socket, message: unknown): void {
  if (socket.writable) socket.write(`${JSON.stringify(message)}\n`)
}

/** Client of a server that answers requests in order. */
export class MessageClient {
  readonly #socket: Socket
  readonly #waiting: { resolve(reply: unknown): void; reject(error: Error): void }[] = []
  #closed: Error | undefined
  /** Called once, when the connection is lost. */
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

  /**
   * Connects to the socket at `path`.
   *
   * @throws the system's error (ENOENT, ECONNREFUSED) if no program listens there
   */
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
