/** Enough for every string of NVML: names 96, UUIDs 96, versions 80 bytes. */
const TEXT_BYTES = 96

export function textBuffer(): Buffer {
  return Buffer.alloc(TEXT_BYTES)
}

/** The C string that starts at `from` in a buffer. */
export function textIn(buffer: Buffer, from = 0): string {
  const end = buffer.indexOf(0, from)
  return buffer.toString('utf8', from, end < 0 ? buffer.length : end)
}
