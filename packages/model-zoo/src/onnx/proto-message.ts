import { PbfWriter } from 'pbf'

/**
 * Bytes that are computed only when they are written to their destination, so that half a gigabyte of weights is never
 * in memory twice.
 */
export interface Payload {
  readonly byteLength: number
  /** Writes the bytes. `target` is exactly `byteLength` long. */
  writeTo(target: Uint8Array): void
}

const LENGTH_DELIMITED = 2

/**
 * A message in the wire format of Protocol Buffers (protobuf.dev, "Encoding"), with only what ONNX needs. Fields appear
 * in the order of the calls. A nested message must be complete before it is added.
 */
export class ProtoMessage implements Payload {
  readonly #parts: Payload[] = []
  byteLength = 0

  /** Adds an int32, an int64 or an enumeration. */
  int(field: number, value: number): this {
    return this.#add((pbf) => pbf.writeVarintField(field, value))
  }

  float(field: number, value: number): this {
    return this.#add((pbf) => pbf.writeFloatField(field, value))
  }

  string(field: number, text: string): this {
    return this.#add((pbf) => pbf.writeStringField(field, text))
  }

  /** Adds a bytes field, or another message. */
  payload(field: number, payload: Payload): this {
    this.#add((pbf) => {
      pbf.writeTag(field, LENGTH_DELIMITED)
      pbf.writeVarint(payload.byteLength)
    })
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

  #add(write: (pbf: PbfWriter) => void): this {
    const pbf = new PbfWriter()
    write(pbf)
    const bytes = pbf.finish()
    this.#parts.push({ byteLength: bytes.length, writeTo: (target) => target.set(bytes) })
    this.byteLength += bytes.length
    return this
  }
}
