import { InvalidArgumentError } from 'commander'

/** `NAME=VALUE` options by name. */
export type Named<T> = ReadonlyMap<string, T>

/** `NAME=VALUE`, collected over repeated options. */
export function named<T>(parse: (value: string) => T) {
  return (option: string, before: Named<T> = new Map()): Named<T> => {
    const at = option.indexOf('=')
    if (at < 1 || at === option.length - 1) throw new InvalidArgumentError(`not NAME=VALUE: '${option}'.`)
    const name = option.slice(0, at)
    if (before.has(name)) throw new InvalidArgumentError(`${name} is there twice.`)
    return new Map([...before, [name, parse(option.slice(at + 1))]])
  }
}
