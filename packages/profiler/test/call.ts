import { type Answer, callCommand } from '../../../test/call-command.js'
import { pctodlProfile } from '../src/commands.js'

/** Run the command line as a function, on a terminal that keeps what is written. */
export function call(
  argv: readonly string[],
  onError: (text: string) => void = () => {},
  signal?: AbortSignal,
): Promise<Answer> {
  return callCommand('pctodl profile', pctodlProfile, argv, { onError, ...(signal && { signal }) })
}
