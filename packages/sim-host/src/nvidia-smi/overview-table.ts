import { NOT_READ, NOT_READ_64, NOT_TOLD } from '../board-file-layout.js'
import type { BoardReading } from '../board-file-reader.js'
import { migDevicesOf } from './mig-listing.js'
import { migMemory } from './mig-report.js'
import { computeModeName, ctime, cudaVersion, enabled, instanceId, type SmiReading, usedBytes } from './reading.js'

const MIB = 1024 ** 2
/** Widths inside the borders of the three columns and of the whole table, characters. */
const LEFT = 41
const MIDDLE = 24
const RIGHT = 22
const WIDTH = LEFT + MIDDLE + RIGHT + 2

/** Returns the output of `nvidia-smi` without arguments. */
export function overviewTable({ boards, date }: SmiReading): string {
  const { driverVersion, cudaDriverVersion } = boards[0]!.identity
  const line = '-'.repeat(WIDTH)
  const split = (left: string, corner: string, right: string, stroke: string) =>
    left + [LEFT, MIDDLE, RIGHT].map((width) => stroke.repeat(width)).join(corner) + right
  const title = `NVIDIA-SMI ${driverVersion.padEnd(22)} Driver Version: ${driverVersion.padEnd(14)} CUDA Version: ${cudaVersion(cudaDriverVersion)}`
  return [
    ctime(date),
    `+${line}+`,
    `| ${title.padEnd(WIDTH - 2)} |`,
    split('|', '+', '+', '-'),
    '| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |',
    '| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |',
    '|                                         |                        |               MIG M. |',
    split('|', '+', '|', '='),
    ...boards.flatMap((board) => [...boardRows(board), split('+', '+', '+', '-')]),
    ...migRows(boards),
    ' '.repeat(WIDTH + 2),
    `+${line}+`,
    `| ${'Processes:'.padEnd(WIDTH - 2)} |`,
    `|${'  GPU   GI   CI        PID   Type   Process name'.padEnd(WIDTH - 11)}GPU Memory |`,
    `|${'        ID   ID'.padEnd(WIDTH - 11)}Usage      |`,
    `|${'='.repeat(WIDTH)}|`,
    ...processRows(boards),
    `+${line}+`,
    '',
  ].join('\n')
}

function boardRows(board: BoardReading): string[] {
  const { header, identity, state } = board
  const told = (value: number, unit: string, width: number) =>
    (value === NOT_TOLD ? 'N/A' : value === NOT_READ ? 'ERR!' : `${value}${unit}`).padStart(width)
  const name = identity.name.length > 26 ? `${identity.name.slice(0, 23)}...` : identity.name
  const watts = (mw: number, width: number) => told(mw >= NOT_READ ? mw : Math.round(mw / 1000), 'W', width)
  const memory = (bytes: number, width: number) =>
    (bytes === NOT_READ_64 ? 'ERR!' : `${Math.floor(bytes / MIB)}MiB`).padStart(width)
  const pstate = state.pstate > 15 ? 'N/A' : `P${state.pstate}`
  return [
    `| ${String(header.gpuIndex).padStart(3)}  ${name.padEnd(27)} ${(state.persistenceMode ? 'On' : 'Off').padStart(6)} |` +
      ` ${identity.busId.padStart(18)} Off | ${(identity.hasEcc ? '0' : 'N/A').padStart(20)} |`,
    `|${told(state.fanPercent, '%', 4)}  ${told(state.temperatureC, 'C', 4)}  ${`  ${pstate}`.padEnd(13)}` +
      `${watts(state.powerAverageMw, 6)} / ${watts(state.powerLimitMw, 6)} |` +
      ` ${memory(usedBytes(board), 9)} / ${memory(identity.memoryTotalBytes, 10)} |` +
      ` ${told(state.smUtilPercent, '%', 7)} ${computeModeName(state.computeMode, 'table').padStart(12)} |`,
    `|${' '.repeat(LEFT)}|${' '.repeat(MIDDLE)}| ${(identity.hasMig ? enabled(state.migCurrent) : 'N/A').padStart(20)} |`,
  ]
}

/** Widths inside the borders of the MIG table's columns, characters. */
const MIG_WIDTHS = [18, 34, 11, 23] as const

function migRows(boards: readonly BoardReading[]): string[] {
  if (!boards.some(({ state }) => state.migCurrent)) return []
  const rule = (stroke: string) =>
    `${stroke === '=' ? '|' : '+'}${MIG_WIDTHS.map((width) => stroke.repeat(width)).join('+')}${stroke === '=' ? '|' : '+'}`
  const row = (...cells: string[]) => `|${cells.map((cell, i) => cell.padEnd(MIG_WIDTHS[i]!)).join('|')}|`
  const rows = boards.flatMap((board) =>
    migDevicesOf(board).flatMap((device) => {
      const { index, computeInstance, gpuInstance } = device
      const { profile } = gpuInstance
      const { usedBytes: used, reservedBytes, totalBytes } = migMemory(device)
      const mib = (bytes: number) => `${Math.floor(bytes / MIB)}MiB`
      const number = (value: number, width: number) => String(value).padStart(width)
      const bar1 = mib((board.identity.bar1TotalBytes * profile.memorySlices) / 8)
      return [
        row(
          `${number(board.header.gpuIndex, 3)}${number(computeInstance.gpuInstanceId, 5)}${number(computeInstance.id, 4)}${number(index, 4)}`,
          `${mib(used + reservedBytes).padStart(15)} / ${mib(totalBytes).padStart(10)}`,
          `${number(computeInstance.smCount, 3)}${number(0, 7)}`,
          `${number(profile.copyEngines, 3)}${number(0, 4)}${number(profile.decoders, 5)}${number(profile.ofas, 5)}${number(profile.jpegs, 5)}`,
        ),
        row('', `${'0MiB'.padStart(15)} / ${bar1.padStart(10)}`, '', ''),
        rule('-'),
      ]
    }),
  )
  return [
    ' '.repeat(WIDTH + 2),
    `+${'-'.repeat(WIDTH)}+`,
    `| ${'MIG devices:'.padEnd(WIDTH - 1)}|`,
    rule('-'),
    row(' GPU  GI  CI  MIG ', '                     Memory-Usage ', '        Vol', '        Shared         '),
    row('      ID  ID  Dev ', '                       BAR1-Usage ', ' SM     Unc', ' CE ENC  DEC  OFA  JPG '),
    row('                  ', '                                  ', '        ECC', '                       '),
    rule('='),
    ...(rows.length > 0 ? rows : [`|${'  No MIG devices found'.padEnd(WIDTH)}|`, `+${'-'.repeat(WIDTH)}+`]),
  ]
}

function processRows(boards: readonly BoardReading[]): string[] {
  const rows = boards.flatMap(({ header, state }) =>
    state.processes.map((process) => {
      const { pid, isMpsClient, name, usedBytes: bytes } = process
      const [instance, part] = [process.gpuInstanceId, process.computeInstanceId].map(instanceId)
      const place = `${String(header.gpuIndex).padStart(5)}   ${instance!.padStart(3)}  ${part!.padStart(3)}${String(pid).padStart(10)}`
      const type = (isMpsClient ? 'M+C' : 'C').padStart(7)
      const shownName = name.length > 40 ? `...${name.slice(-37)}` : name
      return `|${place}${type}   ${shownName.padEnd(40)}${`${Math.floor(bytes / MIB)}MiB`.padStart(12)} |`
    }),
  )
  return rows.length > 0 ? rows : [`|${'  No running processes found'.padEnd(WIDTH)}|`]
}
