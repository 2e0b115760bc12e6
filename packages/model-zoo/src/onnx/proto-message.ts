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

/** An integer or enumeration, a text, a 32-bit float, or bytes, which can be another message. */
type Value = number | string | { readonly float: number } | Payload

const LENGTH_DELIMITED = 2

/**
 * A message in the wire format of Protocol Buffers (protobuf.dev, "Encoding"), with only what ONNX needs.
 *
 * @param fields number and value of each field, in order; a repeated field has several values
 */
export function message(...fields: readonly (readonly [number, Value | readonly Value[]])[]): Payload {
  const parts = fields.flatMap(([field, value]) => [value].flat().flatMap((each) => partsOf(field, each)))
  return {
    byteLength: parts.reduce((sum, { byteLength }) => sum + byteLength, 0),
    writeTo(target) {
      let offset = 0
      for (const part of parts) {
        part.writeTo(target.subarray(offset, offset + part.byteLength))
        offset += part.byteLength
      }
    },
  }
}

/** The encoded number and value of a field; bytes are a part of their own. */
function partsOf(field: number, value: Value): Payload[] {
  const pbf = new PbfWriter()
  if (typeof value === 'number') pbf.writeVarintField(field, value)
  else if (typeof value === 'string') pbf.writeStringField(field, value)
  else if ('float' in value) pbf.writeFloatField(field, value.float)
  else {
    pbf.writeTag(field, LENGTH_DELIMITED)
    pbf.writeVarint(value.byteLength)
  }
  const bytes = pbf.finish()
  const encoded: Payload = { byteLength: bytes.length, writeTo: (target) => target.set(bytes) }
  return typeof value === 'object' && 'writeTo' in value ? [encoded, value] : [encoded]
}

export function encode(payload: Payload): Uint8Array {
  const bytes = new Uint8Array(payload.byteLength)
  payload.writeTo(bytes)
  return bytes
}
