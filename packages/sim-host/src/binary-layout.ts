/**
 * One field of a binary layout. TypeScript reads and writes the field through a `DataView`. The C struct of the native
 * library is generated from the same description, so the two always match.
 */
export interface Field<T> {
  readonly cType: string
  /** Number of elements of the C array; 0 for a single value. */
  readonly length: number
  readonly bytes: number
  readonly alignment: number
  /** Name of the field before this one, a `u32` that counts the used elements of this list. */
  readonly countName?: string
  get(view: DataView, offset: number): T
  set(view: DataView, offset: number, value: T): void
}

const LITTLE_ENDIAN = true

export const u32: Field<number> = {
  cType: 'uint32_t',
  length: 0,
  bytes: 4,
  alignment: 4,
  get: (view, offset) => view.getUint32(offset, LITTLE_ENDIAN),
  set: (view, offset, value) => view.setUint32(offset, value, LITTLE_ENDIAN),
}

/** Fields of one word each. */
export function words<Name extends string>(names: readonly Name[]): Record<Name, Field<number>> {
  return Object.fromEntries(names.map((name) => [name, u32])) as Record<Name, Field<number>>
}

/**
 * Unsigned 64-bit field whose value is a JavaScript number. Numbers are exact only below 2^53, and the byte counts,
 * millijoules and nanoseconds stored here stay far below that.
 */
export const u64: Field<number> = {
  cType: 'uint64_t',
  length: 0,
  bytes: 8,
  alignment: 8,
  get: (view, offset) => Number(view.getBigUint64(offset, LITTLE_ENDIAN)),
  set: (view, offset, value) => view.setBigUint64(offset, BigInt(Math.round(value)), LITTLE_ENDIAN),
}

export function u32s(length: number): Field<readonly number[]> {
  return {
    cType: 'uint32_t',
    length,
    bytes: 4 * length,
    alignment: 4,
    get: (view, offset) => Array.from({ length }, (_, i) => u32.get(view, offset + 4 * i)),
    set(view, offset, values) {
      for (let i = 0; i < length; i++) u32.set(view, offset + 4 * i, values[i] ?? 0)
    },
  }
}

/** Text in `length` bytes that ends with a zero byte; longer text is cut. */
export function text(length: number): Field<string> {
  return {
    cType: 'char',
    length,
    bytes: length,
    alignment: 1,
    get(view, offset) {
      const bytes = new Uint8Array(view.buffer, view.byteOffset + offset, length)
      const end = bytes.indexOf(0)
      return new TextDecoder().decode(bytes.subarray(0, end < 0 ? length : end))
    },
    set(view, offset, value) {
      const bytes = new Uint8Array(view.buffer, view.byteOffset + offset, length)
      bytes.fill(0)
      bytes.set(new TextEncoder().encode(value).subarray(0, length - 1))
    },
  }
}

/** Layout of a C struct whose values have the TypeScript type `V`. */
export class Layout<V extends object> {
  readonly bytes: number
  readonly alignment: number
  readonly #offsets = new Map<string, number>()
  readonly #fields: readonly (readonly [string, Field<unknown>])[]
  readonly #members: readonly (readonly [string, Field<unknown>])[]

  constructor(
    readonly cName: string,
    fields: { readonly [K in keyof V]: Field<V[K]> },
  ) {
    this.#fields = Object.entries(fields)
    this.#members = this.#fields.flatMap((field) => {
      const { countName } = field[1]
      return countName === undefined ? [field] : [[countName, u32 as Field<unknown>] as const, field]
    })
    let end = 0
    for (const [name, field] of this.#members) {
      end = alignUp(end, field.alignment)
      this.#offsets.set(name, end)
      end += field.bytes
    }
    this.alignment = 8
    this.bytes = alignUp(end, this.alignment)
  }

  offsetOf(field: string): number {
    return this.#offsets.get(field)!
  }

  read(view: DataView, base: number): V {
    const valueAt = ([name, { countName, ...field }]: readonly [string, Field<unknown>]) => {
      const value = field.get(view, base + this.offsetOf(name))
      if (countName === undefined) return [name, value]
      return [name, (value as unknown[]).slice(0, u32.get(view, base + this.offsetOf(countName)))]
    }
    return Object.fromEntries(this.#fields.map(valueAt)) as V
  }

  write(view: DataView, base: number, values: V): void {
    for (const [name, { countName, ...field }] of this.#fields) {
      const value = (values as Record<string, unknown>)[name]
      field.set(view, base + this.offsetOf(name), value)
      if (countName !== undefined) u32.set(view, base + this.offsetOf(countName), (value as unknown[]).length)
    }
  }

  /** Returns the C declaration of the struct, with a compile-time assertion for the offset of every field. */
  toC(): string {
    const members = this.#members.map(
      ([name, { cType, length }]) => `    ${cType} ${name}${length ? `[${length}]` : ''};`,
    )
    const asserts = this.#members.map(
      ([name]) =>
        `_Static_assert(offsetof(struct ${this.cName}, ${name}) == ${this.#offsets.get(name)}, "${this.cName}.${name}");`,
    )
    return [
      `struct ${this.cName} {`,
      ...members,
      '} __attribute__((aligned(8)));',
      ...asserts,
      `_Static_assert(sizeof(struct ${this.cName}) == ${this.bytes}, "${this.cName}");`,
      '',
    ].join('\n')
  }
}

export function list<V extends object>(layout: Layout<V>, length: number): Field<readonly V[]> {
  return {
    cType: `struct ${layout.cName}`,
    length,
    bytes: layout.bytes * length,
    alignment: layout.alignment,
    get: (view, offset) => Array.from({ length }, (_, i) => layout.read(view, offset + i * layout.bytes)),
    set(view, offset, values) {
      values.slice(0, length).forEach((value, i) => {
        layout.write(view, offset + i * layout.bytes, value)
      })
    },
  }
}

/** A list that is written with the number of its elements, and read without the unused rest. */
export function counted<T>(countName: string, field: Field<readonly T[]>): Field<readonly T[]> {
  return { ...field, countName }
}

function alignUp(offset: number, alignment: number): number {
  return Math.ceil(offset / alignment) * alignment
}
