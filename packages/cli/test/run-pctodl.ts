import { type Answer, callCommand } from '../../../test/call-command.js'
import { pctodl } from '../src/index.js'

/** Call the command line as a function. */
export function run(...argv: string[]): Promise<Answer> {
  return callCommand('pctodl', pctodl, argv, { env: process.env })
}
