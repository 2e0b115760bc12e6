import { parseArgs } from 'node:util'
import { InvalidInputError, networkNames, PctodlError } from '@pctodl/platform'
import { version } from '../package.json'
import type { OnnxOptions } from './onnx/export-onnx.js'
import { writeOnnx } from './onnx/write-onnx.js'

const help = `Usage: pctodl-export-onnx <network> --out FOLDER [options]

Writes <network>.onnx (opset 17) with random weights, drawn from a seed: for measuring time, memory and power.

Networks: ${networkNames.join(', ')}

Options:
  --out FOLDER      where the files go; made where it is missing
  --seed N          draw the weights from this seed (default 1)
  --input-size N    height and width of the images, pixels (default 224)
  --external-data   put the weights into <network>.onnx.data beside the model
  --version         print the version
  --help            show this help

Example:
  pctodl-export-onnx resnet50 --out models --seed 1

Exit codes: 0 done, 1 the files cannot be written, 2 the call is not understood.
`

export interface ExportOutput {
  readonly stdout: { write(text: string): unknown }
  readonly stderr: { write(text: string): unknown }
}

/** The command line `pctodl-export-onnx` as a function; returns its exit code. */
export function runExportOnnx(argv: readonly string[], { stdout, stderr }: ExportOutput): 0 | 1 | 2 {
  try {
    const call = parseCall(argv)
    if (call === 'help' || call === 'version') {
      stdout.write(call === 'help' ? help : `${version}\n`)
      return 0
    }
    for (const { path, byteLength } of writeOnnx(call.network, call.folder, call.options)) {
      stdout.write(`${path} (${(byteLength / 1e6).toFixed(1)} MB)\n`)
    }
    return 0
  } catch (error) {
    if (!isUsageError(error) && !isFileError(error)) throw error
    stderr.write(`pctodl-export-onnx: ${error.message}\n`)
    if (isFileError(error)) return 1
    stderr.write("Try 'pctodl-export-onnx --help'.\n")
    return 2
  }
}

/** The same for `pctodl`, whose commands are asynchronous. */
export async function exportOnnx(argv: readonly string[], output: ExportOutput): Promise<number> {
  return runExportOnnx(argv, output)
}

function parseCall(
  argv: readonly string[],
): 'help' | 'version' | { network: string; folder: string; options: OnnxOptions } {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      out: { type: 'string' },
      seed: { type: 'string', default: '1' },
      'input-size': { type: 'string', default: '224' },
      'external-data': { type: 'boolean', default: false },
      version: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return 'help'
  if (values.version) return 'version'
  const [network, ...others] = positionals
  if (network === undefined || others.length > 0) throw new InvalidInputError('network', positionals, 'one network')
  if (values.out === undefined || values.out === '') throw new InvalidInputError('--out', values.out, 'a folder')
  return {
    network,
    folder: values.out,
    options: {
      seed: integer('--seed', values.seed),
      inputSize: integer('--input-size', values['input-size']),
      weights: values['external-data'] ? 'external' : 'embedded',
    },
  }
}

function integer(option: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidInputError(option, text, 'a non-negative integer')
  return Number(text)
}

/** What was typed is wrong: an option that Node's parser refuses, a name or a value that the export refuses. */
function isUsageError(error: unknown): error is Error {
  if (error instanceof PctodlError) return true
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
}

function isFileError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error
}
