import { readFileSync } from 'node:fs'

/** Prints a script's head comment, which describes its purpose and options, and exits. */
export function printUsage(file: string): never {
  const [head] = readFileSync(file, 'utf8').split('*/')
  process.stdout.write(
    `${head!
      .replace('/**', '')
      .replaceAll(/^ \* ?/gm, '')
      .trim()}\n`,
  )
  process.exit(0)
}
