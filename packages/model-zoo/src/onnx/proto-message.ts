/**
 * Bytes that are computed only when they are written to their destination, so that half a gigabyte of weights is never
 * in memory twice.
 */
export interface Payload {
  readonly byteLength: number
  /** Writes the bytes. `target` is exactly `byteLength` long. */
  writeTo(target: Uint8Array): void
}

const VARINT = 0
const LENGTH_DELIMITED = 2
const FIXED_32 = 5

/**
 * A message in the wire format of Protocol Buffers (protobuf.dev, "Encoding"), with only what ONNX needs. Fields appear
 * in the order of the calls. A nested message must be complete before it is added.
 */
export class ProtoMessage implements Payload {
  readonly #parts: Payload[] = []
  byteLength = 0

  /** Adds an int32, an int64 or an enumeration. */
  int(field: number, value: number): this {
    return this.#add([...tag(field, VARINT), ...varint(value)])
  }

  float(field: number, value: number): this {
    const bytes = new Uint8Array(4)
    new DataView(bytes.buffer).setFloat32(0, value, true)
    return this.#add([...tag(field, FIXED_32), ...bytes])
  }

  string(field: number, text: string): this {
    const bytes = new TextEncoder().encode(text)
    return this.#add([...tag(field, LENGTH_DELIMITED), ...varint(bytes.length), ...bytes])
  }

  /** Adds a bytes field, or another message. */
  payload(field: number, payload: Payload): this {
    this.#add([...tag(field, LENGTH_DELIMITED), ...varint(payload.byteLength)])
    this.#parts.push(payload)
    this.byteLength += payload.byteLength
    return this
  }

  writeTo(target: Uint8Array): void {
    let offset = 0
    for (const part of this.#parts) {
      part.writeTo(target.subarray(offset, offset + part.byteLength))
      offset += part.byteLength
    }
  }

  encode(): Uint8Array {
    const bytes = new Uint8Array(this.byteLength)
    this.writeTo(bytes)
    return bytes
  }

  #add(bytes: readonly number[]): this {
    this.#parts.push({ byteLength: bytes.length, writeTo: (target) => target.set(bytes) })
    this.byteLength += bytes.length
    return this
  }
}

function tag(field: number, wireType: number): number[] {
  return varint(field * 8 + wireType)
}

/**
 * Encodes a number with seven bits per byte, lowest bits first. A negative number is encoded as the 64 bits of its
 * two's complement.
 */
function varint(value: number): number[] {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, BigInt(value))
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80)
    rest >>= 7n
  }
  bytes.push(Number(rest))
  return bytes
}
