import { readFileSync } from 'node:fs'
import { type ParseArgsConfig, parseArgs } from 'node:util'

type Widened<T> = T extends number ? number : T extends boolean ? boolean : string

/**
 * Reads a script's options. Their defaults define their names and types: numbers, texts and switches. With `--help`,
 * prints the script's head comment, which describes its purpose and options, and exits. An unknown option, a number that
 * is none or negative, and, unless `allowPositionals`, further words end the script with a message.
 */
export function scriptOptions<T extends Readonly<Record<string, number | string | boolean>>>(
  file: string,
  defaults: T,
  allowPositionals = false,
): { readonly [K in keyof T]: Widened<T[K]> } & { readonly positionals: readonly string[] } {
  const entries = Object.entries({ ...defaults, help: false })
  const options: ParseArgsConfig['options'] = {}
  for (const [name, value] of entries) options[name] = { type: typeof value === 'boolean' ? 'boolean' : 'string' }
  const { values, positionals } = parsed({ options, allowPositionals })
  if (values['help']) printUsage(file)
  const read = entries.map(([name, value]) => {
    const given = values[name] ?? value
    if (typeof value !== 'number') return [name, given]
    const number = Number(given)
    if (given === '' || !Number.isFinite(number) || number < 0) {
      refuse(`--${name}: got '${given}', expected a number of at least 0`)
    }
    return [name, number]
  })
  return { ...Object.fromEntries(read), positionals }
}

function parsed(config: ParseArgsConfig) {
  try {
    return parseArgs(config)
  } catch (error) {
    return refuse((error as Error).message)
  }
}

/** Ends the script with a message. */
export function refuse(message: string): never {
  console.error(message)
  process.exit(2)
}

export function printUsage(file: string, exitCode = 0): never {
  const [head] = readFileSync(file, 'utf8').split('*/')
  console.log(
    head!
      .replace('/**', '')
      .replaceAll(/^ \* ?/gm, '')
      .trim(),
  )
  process.exit(exitCode)
}
