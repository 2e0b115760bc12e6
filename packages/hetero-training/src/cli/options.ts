import { UsageError } from '@pctodl/command-line'
import { type Command, InvalidArgumentError } from 'commander'

/** `NAME=VALUE` options by name. */
export type Named<T> = ReadonlyMap<string, T>

export function named<T>(parse: (value: string) => T) {
  return (option: string, before: Named<T> = new Map()): Named<T> => {
    const at = option.indexOf('=')
    if (at < 1 || at === option.length - 1) throw new InvalidArgumentError(`not NAME=VALUE: '${option}'.`)
    const name = option.slice(0, at)
    if (before.has(name)) throw new InvalidArgumentError(`${name} is given twice.`)
    return new Map([...before, [name, parse(option.slice(at + 1))]])
  }
}

/**
 * @param names as in `opts`
 * @throws UsageError for an option that would be ignored
 */
export function refuseGiven(command: Command, names: readonly string[], why: string): void {
  const refused = names.find((name) => command.getOptionValueSource(name) === 'cli')
  const option = command.options.find((each) => each.attributeName() === refused)
  if (option) throw new UsageError(`${option.long}: ${why}`)
}
