import { readFileSync } from 'node:fs'
import {
  asUsage,
  type CommandFunction,
  integerFrom,
  newCommand,
  oneOf,
  parseCommand,
  positiveNumber,
  UsageError,
} from '@pctodl/command-line'
import { version } from '../../package.json'
import { LanguageModelPass, memoryBytes, type PassEstimate } from '../operators/language-model.js'
import { findOperatorBoard } from '../operators/operator-board.js'
import { type OperatorDtype, operatorDtypes } from '../operators/operator-work.js'
import { loadModelZoo } from './optional-packages.js'
import { newTable } from './prediction-report.js'

interface LlmOptions {
  readonly config: string
  readonly gpu: string
  readonly powerCap?: number
  readonly batch: number
  readonly context: number
  readonly prompt?: number
  readonly dtype: OperatorDtype
  readonly maxTpotMs?: number
  readonly json?: boolean
}

/** The command `pctodl llm`; exit code 1 if the model does not fit, or if no clock keeps the cap or the objective. */
export const llm: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'pctodl llm',
      version,
      description: 'Predict tokens/s, latency, watts and joules per token of a language model on one board.',
      example: 'pctodl llm --config config.json --gpu H200 --power-cap 500 --batch 32 --context 4096',
    },
    terminal,
  )
    .requiredOption('--config <file>', "the model's config.json, as on Hugging Face")
    .requiredOption('--gpu <name>', 'board, such as H200 or "RTX PRO 6000"')
    .option('--power-cap <W>', "board power (default: the board's limit)", positiveNumber('watts'))
    .option('--batch <n>', 'sequences that decode together', integerFrom(1), 1)
    .option('--context <tokens>', 'tokens that each sequence has in its cache', integerFrom(1), 4096)
    .option('--prompt <tokens>', 'prompt of the time to the first token (default: --context)', integerFrom(1))
    .option(
      '--dtype <format>',
      `weights and products: ${operatorDtypes.join(', ')}`,
      oneOf(...operatorDtypes),
      'bfloat16',
    )
    .option('--max-tpot-ms <ms>', 'longest time per output token', positiveNumber('ms'))
    .option('--json', 'print JSON')
  await parseCommand(command, argv)
  const options = command.opts<LlmOptions>()
  const graphs = await loadModelZoo()
  const found = asUsage(() => estimate(options, graphs))
  terminal.stdout.write(options.json ? `${JSON.stringify(found, null, 2)}\n` : format(found))
  const { memory, prefill, decode, fewestJoules } = found
  if (memory.fits && prefill && decode && fewestJoules.decode) return 0
  const reason = memory.fits ? 'no clock keeps the cap or the objective' : 'weights and cache do not fit the memory'
  if (!options.json) terminal.stderr.write(`pctodl llm: ${reason}\n`)
  return 1
}

function readConfig(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new UsageError(`--config ${file}: ${(cause as Error).message}; give the config.json of a model`)
  }
}

type Graphs = Awaited<ReturnType<typeof loadModelZoo>>

function estimate(options: LlmOptions, graphs: Graphs) {
  const { batch, context, prompt = context, dtype, maxTpotMs } = options
  const board = findOperatorBoard(options.gpu)
  const capW = Math.min(options.powerCap ?? board.powerLimitW, board.powerLimitW)
  const config = readConfig(options.config)
  const decoder = graphs.decoderFromConfig(config)
  const { quantization_config: quantised } = config as { readonly quantization_config?: { quant_method?: unknown } }
  const memoryOf = (sequences: number, length: number) => memoryBytes(graphs, decoder, dtype, sequences, length)
  const [decoding, prompting] = [memoryOf(batch, context), memoryOf(1, prompt)]
  const larger = decoding.total > prompting.total ? decoding : prompting
  const boardBytes = board.memoryGiB * 2 ** 30
  const memory = { ...larger, boardBytes, fits: larger.total <= boardBytes }
  const phases = [
    { phase: 'prefill', batch: 1, length: prompt },
    { phase: 'decode', batch, length: context },
  ] as const
  const passesIn = (format: OperatorDtype) =>
    phases.map((pass) => new LanguageModelPass(graphs, decoder, pass, board, format))
  const [passes, fullPasses] = [passesIn(dtype), passesIn('bfloat16')]
  const [prefill, decode] = passes as [LanguageModelPass, LanguageModelPass]
  const slower = phases.filter((_, i) => topS(passes[i]!) > 1.03 * topS(fullPasses[i]!)).map(({ phase }) => phase)
  const wattsFrom = [...new Set([...prefill.wattsFrom, ...decode.wattsFrom])]
  const maxSeconds = maxTpotMs === undefined ? Number.POSITIVE_INFINITY : maxTpotMs / 1000
  return {
    board: board.name,
    powerCapW: capW,
    model: decoder.family,
    dtype,
    batch,
    context,
    prompt,
    parameters: graphs.decoderParameters(decoder),
    memory,
    prefill: phaseOf(prefill.within(capW), prompt),
    decode: phaseOf(decode.within(capW), batch),
    fewestJoules: { maxTpotMs: maxTpotMs ?? null, decode: phaseOf(decode.minEnergy(capW, maxSeconds), batch) },
    unsupported: notes([
      [
        'The dependence on clock and cap is a model with assumed voltage and memory energy: no public measurement of language-model operators against the clock exists for datacentre Hopper and Blackwell.',
        board.name !== 'H100',
      ],
      [
        'Watts, and the clock under a cap, follow nine passes of one model, measured on two H100 at 700 W; lower caps and formats other than bfloat16 are not measured.',
        board.name === 'H100',
      ],
      [
        'Norms, rotations and activations, and the gaps that a serving engine leaves between steps, are not measured: real steps take longer.',
      ],
      [`Times are those of ${board.measuredAs}, scaled by peaks and bandwidth.`, board.measuredAs !== board.name],
      [`Watts were not measured on this board: they follow ${wattsFrom.join(' and ')}.`, wattsFrom.length > 0],
      [
        `The longest measured prompt has ${MEASURED.prompt} tokens, the longest context ${MEASURED.context}, the largest batch ${MEASURED.batch}: this extrapolates.`,
        prompt > MEASURED.prompt || context > MEASURED.context || batch > MEASURED.batch,
      ],
      [
        `Prompt or context is longer than the model's, ${decoder.maxContext} tokens.`,
        Math.max(prompt, context) > decoder.maxContext,
      ],
      [
        `A cap above the board's default limit counts as ${board.powerLimitW} W.`,
        (options.powerCap ?? 0) > board.powerLimitW,
      ],
      [
        `The least power, at the lowest clock, is ${lowestW(prefill)} W in prefill and ${lowestW(decode)} W in decode.`,
        prefill.within(capW) === null || decode.within(capW) === null,
      ],
      [
        `Slower than in bfloat16, because the measured kernels of ${dtype} are slow at such sizes: ${slower.join(' and ')}.`,
        slower.length > 0,
      ],
      [
        "Weights and cache leave less than 10 % of the memory for activations and the engine, which vLLM's default reserves.",
        memory.total > 0.9 * memory.boardBytes && memory.fits,
      ],
      [
        'The config states quantised weights, this is for bfloat16: see --dtype.',
        Boolean(quantised) && dtype === 'bfloat16',
      ],
    ]),
  }
}

/** Largest sizes among the measured operators, tokens and sequences. */
const MEASURED = { prompt: 16_384, context: 131_072, batch: 2048 }

/** The texts that apply. */
function notes(list: readonly (readonly [text: string, applies?: boolean])[]): string[] {
  return list.flatMap(([text, applies = true]) => (applies ? [text] : []))
}

const topS = ({ estimates }: LanguageModelPass) => estimates.at(-1)!.seconds
const lowestW = ({ estimates }: LanguageModelPass) => Math.ceil(estimates[0]!.watts)

function phaseOf(pass: PassEstimate | null, tokens: number) {
  if (pass === null) return null
  const { seconds, watts, energyJ, smClockMhz } = pass
  return {
    ms: seconds * 1000,
    tokensPerS: tokens / seconds,
    powerW: watts,
    joulesPerToken: energyJ / tokens,
    smClockMhz,
  }
}

type Found = ReturnType<typeof estimate>

function format(found: Found): string {
  const { board, powerCapW, model, dtype, batch, context, prompt, parameters, memory, prefill, decode, fewestJoules } =
    found
  const gb = (bytes: number) => `${(bytes / 2 ** 30).toFixed(1)} GiB`
  const table = newTable(['', 'time', 'tokens/s', 'power', 'J/token', 'SM clock'])
  const add = (name: string, phase: Found['decode']) =>
    table.push(
      phase === null
        ? [name, 'no clock keeps it', '', '', '', '']
        : [
            name,
            `${phase.ms.toFixed(2)} ms`,
            phase.tokensPerS.toFixed(0),
            `${phase.powerW.toFixed(0)} W`,
            phase.joulesPerToken.toPrecision(3),
            `${phase.smClockMhz} MHz`,
          ],
    )
  add(`prefill of ${prompt} tokens (TTFT)`, prefill)
  add(`decode, ${batch} x ${context} cached (TPOT)`, decode)
  const objective = fewestJoules.maxTpotMs === null ? '' : `, TPOT <= ${fewestJoules.maxTpotMs} ms`
  add(`decode, fewest joules${objective}`, fewestJoules.decode)
  const lines = [
    `${model}, ${(parameters / 1e9).toFixed(2)} billion parameters, ${dtype}, on ${board} at ${powerCapW} W`,
    `Memory: weights ${gb(memory.weights)}, cache ${gb(memory.cache)}, board ${gb(memory.boardBytes)}${memory.fits ? '' : ': does not fit'}`,
    '',
    table.toString(),
    '',
    ...found.unsupported.map((note) => `- ${note}`),
  ]
  return `${lines.join('\n')}\n`
}
