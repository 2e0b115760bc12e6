/** Enough for every NVML string: names 96 bytes, UUIDs 96 bytes, versions 80 bytes. */
const TEXT_BYTES = 96

export function textBuffer(): Buffer {
  return Buffer.alloc(TEXT_BYTES)
}

/** Returns the C string that starts at offset `from` in a buffer. */
export function textIn(buffer: Buffer, from = 0): string {
  const end = buffer.indexOf(0, from)
  return buffer.toString('utf8', from, end < 0 ? buffer.length : end)
}
