import path from 'node:path'
import { backendKinds, openBackend } from '@pctodl/backend'
import {
  type CommandFunction,
  given,
  integerFrom,
  newCommand,
  oneOf,
  parseCommand,
  positiveNumber,
} from '@pctodl/command-line'
import { version } from '../../package.json'
import { type BoardOptions, boardOf } from '../board-options.js'
import { evaluationText, stateText } from './proof-page.js'
import { prove } from './prove.js'

interface RawOptions extends Omit<BoardOptions, 'dataset' | 'model' | 'shares' | 'batches'> {
  readonly allowSettings?: boolean
  readonly minutes: number
  readonly out?: string
}

/** The command `pctodl prove`: runs with the given arguments and returns an exit code. */
export const pctodlProve: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'pctodl prove',
      version,
      description:
        'Measure a board, predict other mixes, measure them too, and write the errors with all rows. Repeat the command until nothing is left.',
      example: 'pctodl prove --gpu 0 --out proof',
    },
    terminal,
  )
    .option('--backend <kind>', `${backendKinds.join(', ')}: simulated or real board`, oneOf(...backendKinds), 'auto')
    .option('--gpu <board>', 'index of a real board (default 0); name of a simulated one, such as H200 or A100')
    .option('--worker <kind>', 'processes on a real board: torch, or a command that speaks the protocol')
    .option('--no-mps', 'real board: no MPS daemon; only single tenants are measured')
    .option('--allow-settings', 'lock clocks for half of the mixes; otherwise no setting is changed')
    .option('--minutes <n>', 'measure no longer than this', positiveNumber('minutes'), 9)
    .option('--seed <n>', 'seed of the random mixes and of a simulated board', integerFrom(0), 1)
    .option('--out <folder>', 'folder of the proof; an existing one is continued (default: proof/<board>)')
    .option('--json', 'print the proof as JSON on standard output')
  await parseCommand(command, argv)
  const options = command.opts<RawOptions>()
  const gpu = boardOf(options)
  const note = (text: string) => terminal.stderr.write(`${text}\n`)
  const open = (mps: boolean) =>
    openBackend({
      kind: options.backend,
      gpu,
      seed: options.seed,
      simulated: { board: { host: 'eager-pytorch-nchw', launch: 'graph' } },
      real: {
        ...given({ worker: options.worker }),
        residentInputs: true,
        verifyBoard: false,
        mps,
        onMessage: note,
      },
    })
  const out = options.out ?? path.join('proof', gpu)
  const { allowSettings = false } = options
  const proof = await prove(open, { ...options, out, allowSettings, signal: terminal.signal, note })
  const text = `${evaluationText(proof)}\n${stateText(proof)}${path.join(out, 'proof.md')}\n`
  terminal.stdout.write(options.json ? `${JSON.stringify(proof, null, 1)}\n` : text)
  // A call whose time ended before the first row has not failed: the next call can measure it.
  const outOfTime = proof.rows.length === 0 && proof.left > 0
  return outOfTime || proof.rows.some((row) => !row.failed) ? 0 : 1
}
