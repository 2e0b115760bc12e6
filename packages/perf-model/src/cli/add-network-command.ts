import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import {
  asUsage,
  type CommandFunction,
  integerFrom,
  newCommand,
  parseCommand,
  UsageError,
  writeFileAtomically,
} from '@pctodl/command-line'
import { findGpuSpec, InvalidInputError, networkNames, smClocksAt, type TraceRow } from '@pctodl/platform'
import { version } from '../../package.json'
import { addNetwork } from '../fit/add-network.js'
import { commonName } from '../network-of.js'
import type { PerfModel } from '../perf-model.js'
import { loadModelZoo } from './optional-packages.js'
import { formatParameters, modelOf, parameterFile } from './parameter-folder.js'
import { newTable } from './prediction-report.js'
import { readTraceFile } from './trace-files.js'

interface RawOptions {
  readonly gpu?: string
  readonly name?: string
  readonly sizes: string[]
  readonly samples?: number
  readonly trace: string[]
  readonly from?: string
  readonly params: string
  readonly json?: boolean
}

/** Batch sizes of the preview, which uses the full share and the top clocks. */
const shownBatches = [1, 8, 64]

export const pctodlAddNetwork: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'pctodl add-network',
      version,
      description:
        "Add a network to a board's predictor, from its ONNX file alone or with a few measured rows, which reduce the error much.",
      example: 'pctodl add-network detector.onnx --gpu A100 --trace detector.csv --params fitted_parameters',
    },
    terminal,
  )
    .argument('<file.onnx>', 'the network; external weight files are not needed')
    .option('--gpu <name>', 'board that the parameters belong to')
    .option('--name <network>', "name of the network in tenants and traces (default: the file's name)")
    .option('--sizes <axis=n...>', 'sizes of symbolic axes, e.g. sequence=128; the batch axis needs none', [])
    .option('--samples <n>', 'samples per run of the stored graph (default: its first axis)', integerFrom(1))
    .option('--trace <files...>', 'measured rows of the network on this board, alone or with known networks', [])
    .option('--from <folder>', 'parameters to extend: <board>.json as pctodl fit writes it (default: shipped)')
    .option('--params <folder>', 'folder for <board>.json', 'fitted_parameters')
    .option('--json', 'print a JSON report on standard output')
  await parseCommand(command, argv)
  const file = command.args[0]!
  const raw = command.opts<RawOptions>()
  const { gpu, name = path.basename(file, '.onnx'), samples, trace, from, params, json = false } = raw
  if (gpu === undefined) throw new UsageError('name the board with --gpu')
  if (!existsSync(file)) throw new UsageError(`${file} is not there; name an ONNX file`)
  const board = asUsage(() => findGpuSpec(gpu)).key
  const sizes = Object.fromEntries(raw.sizes.map(axisSize))
  const output = parameterFile(params, board)
  // The existing file may hold an expensive fit, or networks that were added before.
  if (existsSync(output) && (from === undefined || path.resolve(from) !== path.resolve(params))) {
    throw new UsageError(
      `${output} is there already and would be lost: add to it with --from ${params}, or name another folder with --params`,
    )
  }
  const { graphFromOnnx, layerGraph, networkWork } = await loadModelZoo()
  const model = asUsage(() => modelOf(board, from))
  const inZoo = model.networks.filter((other) => (networkNames as readonly string[]).includes(commonName(other)))
  const known = Object.fromEntries(inZoo.map((other) => [other, networkWork(layerGraph(other))]))
  const bytes = bytesOf(file)
  const graph = ofOptions(() => graphFromOnnx(bytes, { name, sizes, ...(samples === undefined ? {} : { samples }) }))
  for (const { operator, occurrences, shareOfElements } of graph.unknownOperators) {
    terminal.stderr.write(
      `${operator} (${occurrences} times, ${(100 * shareOfElements).toFixed(1)} % of what moves) is not known: it counts as what it reads and writes\n`,
    )
  }
  const rows = trace.flatMap((traceFile): readonly TraceRow[] => readTraceFile(traceFile).rows)
  const added = asUsage(() => addNetwork(model, name, networkWork(graph), { known, rows }))
  writeFileAtomically(output, formatParameters(added.parameters))
  const shown = previewOf(added, name)
  terminal.stdout.write(
    json
      ? `${JSON.stringify({ board, network: name, work: networkWork(graph), rows: rows.length, preview: shown, file: output }, null, 2)}\n`
      : `${name} on ${board}, from its graph and ${rows.length} rows\n\n${tableOf(shown)}\n\nWritten: ${output}\n`,
  )
  return 0
}

function axisSize(text: string): [axis: string, size: number] {
  const [, axis, size] = /^(.+)=([1-9]\d{0,14})$/.exec(text) ?? []
  if (axis === undefined) throw new UsageError(`--sizes: got '${text}', expected axis=n, e.g. sequence=128`)
  return [axis, Number(size)]
}

/** Rethrow errors about axis sizes and samples as usage errors, because command-line options set both. */
function ofOptions<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof InvalidInputError && /^(sizes|samples)/.test(error.field)) {
      throw new UsageError(`${error.message} (options --sizes axis=n and --samples n)`)
    }
    throw error
  }
}

function bytesOf(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new UsageError(`${file} cannot be read (${(error as Error).message}); name an ONNX file`)
  }
}

function previewOf(model: PerfModel, name: string) {
  const memClockMhz = model.memClocksMhz[0]!
  const smClockMhz = smClocksAt(model.spec, memClockMhz)!.at(-1)!
  return shownBatches.map((batchSize) => {
    const tenants = [{ model: name, mpsPercent: 100, batchSize }]
    const configuration = { tenants, smClockMhz, memClockMhz }
    const { throughput, throughputSd, powerW, powerSdW } = model.predict(configuration)
    const { inside, distance } = model.domain(configuration)
    return { batchSize, smClockMhz, memClockMhz, throughput, throughputSd, powerW, powerSdW, inside, distance }
  })
}

function tableOf(rows: ReturnType<typeof previewOf>): string {
  const table = newTable(['batch', 'samples/s', 'power', 'searches go there'])
  for (const { batchSize, throughput, throughputSd = 0, powerW, powerSdW = 0, inside } of rows) {
    const samples = `${throughput.toFixed(0)} +- ${throughputSd.toFixed(0)}`
    const watts = `${powerW.toFixed(0)} +- ${powerSdW.toFixed(0)} W`
    table.push([batchSize, samples, watts, inside ? 'yes' : 'no: measure some rows'])
  }
  return table.toString()
}
