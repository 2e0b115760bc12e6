import { PctodlError, show } from './errors.js'
import { type ClockStates, type GpuSpec, smClocksAt } from './gpu-spec.js'

const FORMAT = 'pctodl-platform'
const VERSION = 1

/** Invalid content of a platform file. `path` is the field, e.g. `spec.clockStates[0].memClockMhz`. */
export class PlatformFileError extends PctodlError {
  constructor(
    file: string,
    readonly path: string,
    found: unknown,
    expected: string,
    options?: ErrorOptions,
  ) {
    const shown = found === undefined ? 'nothing' : show(found)
    super(
      'PLATFORM_FILE',
      `${file}, ${path}: got ${shown}, expected ${expected}; \`pctodl gpu describe\` writes such a file from a board`,
      options,
    )
  }
}

/** Formats a board type as a platform file, for boards that this package does not include (`--gpu my-board.json`). */
export function formatPlatformFile(spec: GpuSpec): string {
  return `${JSON.stringify({ format: FORMAT, version: VERSION, spec }, null, 2)}\n`
}

/**
 * Parses a platform file. Every required field of `GpuSpec` must be present and plausible. Clocks are sorted as
 * `GpuSpec` requires.
 *
 * @param file name of the file, for messages
 * @throws PlatformFileError naming the field
 */
export function parsePlatformFile(text: string, file = 'platform file'): GpuSpec {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (cause) {
    throw new PlatformFileError(file, 'the whole', text, 'JSON', { cause })
  }
  return readPlatform(json, file)
}

/**
 * Reads a platform from parsed content, for example from YAML. The content may also be only a specification, without
 * format and version.
 */
export function readPlatform(content: unknown, file = 'platform file'): GpuSpec {
  const whole = new Fields(file, '', content)
  const bare = whole.has('key') && !whole.has('format')
  if (!bare) {
    whole.oneOf('format', [FORMAT])
    if (whole.number('version') !== VERSION) throw whole.error('version', `${VERSION}, the one that this release reads`)
  }
  const spec = bare ? whole : whole.object('spec')
  const clockStates = spec
    .list('clockStates')
    .map(readClockStates)
    .sort((a, b) => a.memClockMhz - b.memClockMhz)
  const limits = spec.object('powerLimitW')
  const read: GpuSpec = {
    key: spec.key('key'),
    name: spec.text('name'),
    aliases: spec.texts('aliases'),
    architecture: spec.text('architecture'),
    chip: spec.text('chip'),
    process: spec.text('process'),
    ...(spec.has('dieMm2') ? { dieMm2: spec.number('dieMm2') } : {}),
    computeCapability: spec.computeCapability('computeCapability'),
    smCount: spec.integer('smCount'),
    smPerTpc: spec.integer('smPerTpc'),
    baseClockMhz: spec.number('baseClockMhz'),
    boostClockMhz: spec.number('boostClockMhz'),
    clockStates,
    performanceMemClocksMhz: spec.numbers('performanceMemClocksMhz').sort((a, b) => b - a),
    memoryBusBits: spec.integer('memoryBusBits'),
    ...(spec.has('memoryType') ? { memoryType: spec.text('memoryType') } : {}),
    transfersPerMemClock: spec.number('transfersPerMemClock'),
    memoryBytes: spec.integer('memoryBytes'),
    l2Bytes: spec.integer('l2Bytes'),
    tensorFlopPerClockPerSm: spec.number('tensorFlopPerClockPerSm'),
    tf32FlopPerClockPerSm: spec.isNull('tf32FlopPerClockPerSm') ? null : spec.number('tf32FlopPerClockPerSm'),
    fp32FlopPerClockPerSm: spec.number('fp32FlopPerClockPerSm'),
    powerLimitW: { min: limits.number('min'), default: limits.number('default'), max: limits.number('max') },
    powerReading: spec.oneOf('powerReading', ['one-second-average', 'part-time']),
    thermalLimitC: spec.number('thermalLimitC'),
    sources: spec.texts('sources'),
  }
  const { min, max, default: usual } = read.powerLimitW
  if (!(min <= usual && usual <= max)) throw spec.error('powerLimitW', 'min <= default <= max')
  if (clockStates.length === 0) throw spec.error('clockStates', 'at least one memory clock')
  if (clockStates.some((state, i) => state.memClockMhz === clockStates[i - 1]?.memClockMhz))
    throw spec.error('clockStates', 'every memory clock once')
  for (const memClockMhz of read.performanceMemClocksMhz) {
    const smClocksMhz = smClocksAt(read, memClockMhz)
    if (!smClocksMhz) throw spec.error('performanceMemClocksMhz', 'memory clocks of clockStates only')
    if (smClocksMhz[0]! > read.boostClockMhz)
      throw spec.error('boostClockMhz', 'at least the lowest SM clock of each of performanceMemClocksMhz')
  }
  if (read.performanceMemClocksMhz.length === 0)
    throw spec.error('performanceMemClocksMhz', 'at least one memory clock')
  if (read.baseClockMhz > read.boostClockMhz) throw spec.error('baseClockMhz', 'at most boostClockMhz')
  if (read.smPerTpc > read.smCount) throw spec.error('smPerTpc', 'at most smCount')
  return read
}

function readClockStates(fields: Fields): ClockStates {
  const smClocksMhz = fields.numbers('smClocksMhz').sort((a, b) => a - b)
  if (smClocksMhz.length === 0) throw fields.error('smClocksMhz', 'at least one clock')
  return { memClockMhz: fields.number('memClockMhz'), smClocksMhz }
}

/** Reads and checks the fields of one object of the file. */
class Fields {
  readonly #file: string
  readonly #path: string
  readonly #values: Readonly<Record<string, unknown>>

  constructor(file: string, path: string, value: unknown) {
    this.#file = file
    this.#path = path
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new PlatformFileError(file, path || 'the whole', value, 'an object')
    }
    this.#values = value as Record<string, unknown>
  }

  error(field: string, expected: string): PlatformFileError {
    return new PlatformFileError(this.#file, this.#pathOf(field), this.#values[field], expected)
  }

  object(field: string): Fields {
    return new Fields(this.#file, this.#pathOf(field), this.#values[field])
  }

  list(field: string): Fields[] {
    return this.#array(field).map((value, i) => new Fields(this.#file, `${this.#pathOf(field)}[${i}]`, value))
  }

  text(field: string): string {
    const value = this.#values[field]
    // Texts are looked up in tables, where the name of a method would be found.
    if (typeof value !== 'string' || value === '' || value in {}) throw this.error(field, 'a text')
    return value
  }

  computeCapability(field: string): string {
    const value = this.text(field)
    if (/^\d+\.\d$/.test(value)) return value
    throw this.error(field, "a generation and its revision, such as '9.0'")
  }

  /** A board's key, which may name files and fields of objects. */
  key(field: string): string {
    const key = this.text(field)
    if (/^[\p{L}\p{N}][\p{L}\p{N} ._-]*$/u.test(key)) return key
    throw this.error(field, 'a name of letters, digits, blanks, dots and dashes that begins with a letter or digit')
  }

  texts(field: string): string[] {
    return this.#array(field).map((value) => {
      if (typeof value !== 'string') throw this.error(field, 'a list of texts')
      return value
    })
  }

  number(field: string): number {
    const value = this.#values[field]
    if (typeof value !== 'number' || !Number.isFinite(value) || value <= 0) throw this.error(field, 'a number above 0')
    return value
  }

  integer(field: string): number {
    const value = this.number(field)
    if (!Number.isSafeInteger(value)) throw this.error(field, 'a whole number above 0')
    return value
  }

  numbers(field: string): number[] {
    const values = this.#array(field)
    return values.map((value, i) => {
      if (typeof value !== 'number' || !Number.isFinite(value) || value <= 0 || values.indexOf(value) !== i) {
        throw this.error(field, 'a list of numbers above 0, every clock once')
      }
      return value
    })
  }

  has(field: string): boolean {
    return this.#values[field] !== undefined
  }

  isNull(field: string): boolean {
    return this.#values[field] === null
  }

  oneOf<const T extends string>(field: string, names: readonly T[]): T {
    const found = names.find((name) => name === this.#values[field])
    if (found === undefined) throw this.error(field, names.map((name) => `'${name}'`).join(' or '))
    return found
  }

  #array(field: string): unknown[] {
    const value = this.#values[field]
    if (!Array.isArray(value)) throw this.error(field, 'a list')
    // Unlike the list itself, the copy has no gaps, which its methods would skip.
    return Array.from(value)
  }

  #pathOf(field: string): string {
    return this.#path ? `${this.#path}.${field}` : field
  }
}
