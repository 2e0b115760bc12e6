import { type BoardReading, readBoards } from '../board-file-reader.js'
import { BoardLostError, BoardUnavailableError } from '../host-errors.js'
import { nvmlReturn } from '../nvml-return.js'
import { type CsvFormat, csvQueries } from './csv-query.js'
import { parseSections, textReport, xmlReport } from './full-report.js'
import { migCommand } from './mig-command.js'
import { migDevicesOf } from './mig-listing.js'
import { overviewTable } from './overview-table.js'
import { cudaVersion, type SmiReading } from './reading.js'
import { applySetter, parseSetter, requestSet, type Setter } from './setters.js'
import { missingValue, optionOf, SmiError } from './smi-error.js'

/** What one invocation of `nvidia-smi` asks for, parsed from its arguments. */
interface Request {
  readonly show: (reading: SmiReading) => string
  readonly setters: readonly Setter[]
  readonly id: string | undefined
  readonly loopMs: number | undefined
}

/** Short form of each long option. */
const longOptions: Readonly<Record<string, string>> = {
  '--list-gpus': '-L',
  '--query': '-q',
  '--xml-format': '-x',
  '--display': '-d',
  '--id': '-i',
  '--loop': '-l',
  '--loop-ms': '-lms',
  '--power-limit': '-pl',
  '--lock-gpu-clocks': '-lgc',
  '--lock-memory-clocks': '-lmc',
  '--reset-gpu-clocks': '-rgc',
  '--reset-memory-clocks': '-rmc',
  '--applications-clocks': '-ac',
  '--reset-applications-clocks': '-rac',
  '--persistence-mode': '-pm',
  '--compute-mode': '-c',
  '--multi-instance-gpu': '-mig',
  '--gpu-reset': '-r',
  '--help': '-h',
}
const withArgument = new Set(['-d', '-i', '-lms', '-pl', '-lgc', '-lmc', '-ac', '-pm', '-c', '-mig'])

export async function runNvidiaSmi(
  args: readonly string[],
  folder: string,
  print: (text: string) => void,
): Promise<number> {
  try {
    if (args[0] === 'mig') {
      print(
        await migCommand(args.slice(1), {
          boards: (ids) => select(readBoards(folder), ids),
          set: (gpuIndex, operation, first, second, third) =>
            requestSet(folder, { gpuIndex, operation, first, second, third }),
        }),
      )
      return 0
    }
    const request = parse(args, print)
    if (!request) return 0
    for (;;) {
      const all = readBoards(folder)
      const boards = select(all, request.id)
      if (request.setters.length > 0) {
        for (const setter of request.setters) print(await applySetter(setter, boards, folder))
        print('All done.\n')
        return 0
      }
      print(request.show({ boards, attachedGpus: all.length, date: new Date() }))
      if (request.loopMs === undefined) return 0
      await new Promise((resolve) => setTimeout(resolve, request.loopMs))
    }
  } catch (error) {
    if (error instanceof SmiError) {
      print(error.message)
      return error.exitCode
    }
    if (error instanceof BoardLostError) {
      const reason = 'GPU is lost.  Reboot the system to recover this GPU'
      print(`Unable to determine the device handle for GPU${error.busId.slice(4)}: ${reason}\n`)
      return nvmlReturn.gpuIsLost
    }
    const { code } = error as { readonly code?: string }
    if (!(error instanceof BoardUnavailableError) && code !== 'ECONNREFUSED' && code !== 'ENOENT') throw error
    print(
      "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. " +
        'Make sure that the latest NVIDIA driver is installed and running.\n\n',
    )
    return 9
  }
}

/**
 * Parses the arguments. Options such as `-h` print their output here.
 *
 * @returns undefined if all output has already been printed
 */
function parse(args: readonly string[], print: (text: string) => void): Request | undefined {
  let show: Request['show'] = overviewTable
  let id: string | undefined
  let loopMs: number | undefined
  let query = false
  let xml = false
  let display: string[] | undefined
  let csv: { readonly name: string; readonly fields: readonly string[] } | undefined
  let format: CsvFormat | undefined
  const setters: Setter[] = []

  for (let i = 0; i < args.length; i++) {
    const { written, option, attached } = optionOf(args[i]!, longOptions)
    let argument = attached ?? ''
    if (attached === undefined && withArgument.has(option)) {
      argument = args[++i] ?? ''
      if (argument === '') throw missingValue(written)
    }
    const name = written.slice(2)
    if (written.startsWith('--query-') && csvQueries[name]) {
      csv = { name, fields: argument.split(',').map((field) => field.trim()) }
    } else if (written === '--format') {
      format = parseFormat(argument)
    } else if (written.startsWith('--help-query-') && csvQueries[name.slice('help-'.length)]) {
      const query = name.slice('help-'.length)
      const known = csvQueries[query]!.names.map((names) => `${names.map((each) => `"${each}"`).join(' or ')}\n`)
      print([`List of valid properties to query for the switch "--${query}":\n`, ...known].join('\n'))
      return undefined
    } else if (written === '--version') {
      show = versions
    } else if (option === '-L') {
      show = gpuList
    } else if (option === '-q') {
      query = true
    } else if (option === '-x') {
      xml = true
    } else if (option === '-d') {
      display = parseSections(argument)
    } else if (option === '-i') {
      id = argument
    } else if (option === '-l') {
      // The loop interval is optional; default 5 s.
      if (argument === '' && /^\d+$/.test(args[i + 1] ?? '')) argument = args[++i]!
      loopMs = 1000 * Number(argument || 5)
    } else if (option === '-lms') {
      loopMs = Number(argument)
    } else if (option === '-r') {
      throw new SmiError(3, 'GPU reset is not supported on a simulated board.\n')
    } else if (option === '-h') {
      print(
        `nvidia-smi of @pctodl/sim-host: answers ${Object.keys(longOptions).join(', ')}, ${Object.keys(csvQueries)
          .map((each) => `--${each}`)
          .join(', ')}, --format=csv[,noheader][,nounits], mig -h\n`,
      )
      return undefined
    } else {
      const setter = parseSetter(option, argument)
      if (!setter) {
        throw new SmiError(2, `Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n\n`)
      }
      setters.push(setter)
    }
  }
  if (csv) {
    if (!format) throw new SmiError(2, `"--${csv.name}" requires "--format=csv".\n`)
    const { name, fields } = csv
    const chosen = format
    // With `--loop`, only the first output has a header.
    let first = true
    show = (reading) => {
      const text = csvQueries[name]!.csv(fields, reading, { ...chosen, header: chosen.header && first })
      first = false
      return text
    }
  } else if (query) {
    show = (reading) => (xml ? xmlReport(reading) : textReport(reading, display))
  }
  return { show, setters, id, loopMs }
}

function parseFormat(text: string): CsvFormat {
  const words = text.split(',').map((word) => word.trim())
  const unknown = words.find((word) => !['csv', 'noheader', 'nounits'].includes(word))
  if (unknown !== undefined) throw new SmiError(2, `"${unknown}" is not a valid format option.\n`)
  if (!words.includes('csv')) throw new SmiError(2, '"csv" is the only format that queries have.\n')
  return { header: !words.includes('noheader'), units: !words.includes('nounits') }
}

/** Returns the boards that `ids` names: indices, UUIDs or bus ids, separated by commas. */
function select(boards: readonly BoardReading[], ids: string | undefined): readonly BoardReading[] {
  if (ids === undefined) return boards
  return ids.split(',').map((id) => {
    const wanted = id.trim().toLowerCase()
    const found = boards.find(
      ({ header, identity }) =>
        String(header.gpuIndex) === wanted ||
        identity.uuid.toLowerCase() === wanted ||
        (wanted.includes(':') && identity.busId.toLowerCase().endsWith(wanted.replace(/^0+/, ''))),
    )
    if (!found) throw new SmiError(6, 'No devices were found\n')
    return found
  })
}

/** Returns the output of `nvidia-smi --version` with the driver version of the boards. */
function versions({ boards }: SmiReading): string {
  const { driverVersion, cudaDriverVersion } = boards[0]!.identity
  return [
    `NVIDIA-SMI version  : ${driverVersion}`,
    `NVML version        : ${driverVersion.split('.').slice(0, 2).join('.')}`,
    `DRIVER version      : ${driverVersion}`,
    `CUDA Version        : ${cudaVersion(cudaDriverVersion)}`,
    '',
  ].join('\n')
}

function gpuList({ boards }: SmiReading): string {
  return boards
    .map((board) => {
      const { header, identity } = board
      const devices = migDevicesOf(board).map(
        ({ index, name, computeInstance }) =>
          `  ${`MIG ${name}`.padEnd(16)}Device ${String(index).padStart(2)}: (UUID: ${computeInstance.uuid})\n`,
      )
      return `GPU ${header.gpuIndex}: ${identity.name} (UUID: ${identity.uuid})\n${devices.join('')}`
    })
    .join('')
}
