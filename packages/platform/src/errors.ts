/** Length at which the text of a value is cut. */
const MAX_SHOWN = 200

/**
 * Base class of all errors that the pctodl packages throw deliberately.
 *
 * `code` is stable and meant for programs. `message` names the field, the value found, what was expected and the
 * remedy.
 */
export class PctodlError extends Error {
  constructor(
    readonly code: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.name = new.target.name
  }
}

/** Returns the message of whatever was thrown. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** An unacceptable value from the caller; `field` names the argument. */
export class InvalidInputError extends PctodlError {
  constructor(
    readonly field: string,
    readonly value: unknown,
    expected: string,
    options?: ErrorOptions,
  ) {
    super('INVALID_INPUT', `${field}: got ${show(value)}, expected ${expected}`, options)
  }
}

/** An unknown name, for example of a board, network, algorithm or parameter set. The message lists the known names. */
export class UnknownNameError extends PctodlError {
  constructor(
    readonly kind: string,
    readonly value: string,
    readonly known: readonly string[],
  ) {
    super('UNKNOWN_NAME', `unknown ${kind} ${show(value)}; known: ${known.join(', ')}`)
  }
}

/** A power cap that no configuration can meet. */
export class InfeasibleCapError extends PctodlError {
  constructor(
    readonly powerCapW: number,
    /** The lowest cap for which a configuration exists, W. */
    readonly lowestFeasibleW: number,
    subject: string,
  ) {
    super(
      'INFEASIBLE_CAP',
      `power cap ${formatWatts(powerCapW)} W cannot be kept by ${subject}: the lowest power it can run at is ` +
        `${formatWatts(lowestFeasibleW)} W; raise the cap to at least that`,
    )
  }
}

function formatWatts(watts: number): string {
  return watts.toFixed(Number.isInteger(watts) ? 0 : 1)
}

/** Short text of any value. JSON alone has no text for symbols, and throws for BigInts and cycles. */
export function show(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`
  let text: string | undefined
  try {
    if (typeof value !== 'number') text = JSON.stringify(value)
    text ??= String(value)
  } catch {
    text = typeof value === 'bigint' ? `${value}n` : Object.prototype.toString.call(value)
  }
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text
}
