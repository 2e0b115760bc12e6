import { UsageError } from '@pctodl/command-line'
import type { Command } from 'commander'

/** @throws UsageError for an option that was given and would be ignored. @param names as `opts` has them */
export function refuseGiven(command: Command, names: readonly string[], why: string): void {
  const given = names.find((name) => command.getOptionValueSource(name) === 'cli')
  const option = command.options.find((each) => each.attributeName() === given)
  if (option) throw new UsageError(`${option.long}: ${why}`)
}
