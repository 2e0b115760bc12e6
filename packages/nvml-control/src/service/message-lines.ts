import type { Readable } from 'node:stream'

/** Splits a socket's data into lines. Stops reading at a line that is too long, which could fill the memory. */
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
