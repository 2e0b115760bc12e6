import type { Readable } from 'node:stream'

/**
 * Splits the data that a socket receives into lines. If a line is too long, it stops reading, because the line could
 * fill this process's memory.
 *
 * @param onLine called with every line, without the line break
 * @param onTooLong called once; `onLine` is not called after it
 */
export function readLines(
  socket: Readable,
  maxBytes: number,
  onLine: (line: string) => void,
  onTooLong: () => void,
): void {
  let pending: Buffer[] = []
  let pendingBytes = 0
  let ended = false
  socket.on('data', (chunk: Buffer) => {
    for (let from = 0; !ended && from < chunk.length; ) {
      const end = chunk.indexOf(0x0a, from)
      const part = chunk.subarray(from, end < 0 ? chunk.length : end)
      pendingBytes += part.length
      if (pendingBytes > maxBytes) {
        ended = true
        pending = []
        onTooLong()
        return
      }
      pending.push(part)
      if (end < 0) return
      const line = Buffer.concat(pending).toString('utf8')
      pending = []
      pendingBytes = 0
      from = end + 1
      if (line.trim() !== '') onLine(line)
    }
  })
}
