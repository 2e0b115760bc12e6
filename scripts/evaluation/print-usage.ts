import { readFileSync } from 'node:fs'

/** Print the comment at the head of a script, which says what it does and takes, and end. */
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
