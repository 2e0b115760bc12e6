import { readFileSync } from 'node:fs'
import { type ParseArgsConfig, parseArgs } from 'node:util'

type Widened<T> = T extends number ? number : T extends boolean ? boolean : string

/**
 * Reads a script's options. Their defaults define their names and types: numbers, texts and switches. With `--help`,
 * prints the script's head comment, which describes its purpose and options, and exits.
 *
 * @throws Error for an unknown option, a number that is none, and, unless `allowPositionals`, further words
 */
export function scriptOptions<T extends Readonly<Record<string, number | string | boolean>>>(
  file: string,
  defaults: T,
  allowPositionals = false,
): { readonly [K in keyof T]: Widened<T[K]> } & { readonly positionals: readonly string[] } {
  const entries = Object.entries({ ...defaults, help: false })
  const options: ParseArgsConfig['options'] = {}
  for (const [name, value] of entries) options[name] = { type: typeof value === 'boolean' ? 'boolean' : 'string' }
  const { values, positionals } = parseArgs({ options, allowPositionals })
  if (values['help']) printUsage(file)
  const read = entries.map(([name, value]) => {
    const given = values[name] ?? value
    if (typeof value !== 'number') return [name, given]
    if (given === '' || !Number.isFinite(Number(given))) throw new Error(`--${name}: got '${given}', expected a number`)
    return [name, Number(given)]
  })
  return { ...Object.fromEntries(read), positionals }
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
