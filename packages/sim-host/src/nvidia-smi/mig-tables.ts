import type { BoardReading } from '../board-file-reader.js'
import {
  computeName,
  computePlacements,
  computeProfileIds,
  computeSizes,
  computeSms,
  freeComputePlacements,
} from '../mig-facts.js'
import { freeGpuPlacements, type GpuInstanceReading, type MigDeviceReading } from './mig-listing.js'

/** Draws a framed table with a title and column heads. Each row has one or more lines. */
function table(title: string, heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const width = Math.max(...[title, ...heads, ...rows.flat()].map((line) => line.length))
  const line = (text: string) => `|${text.padEnd(width)}|`
  const rule = `+${'-'.repeat(width)}+`
  return [
    rule,
    line(title),
    ...heads.map(line),
    `|${'='.repeat(width)}|`,
    ...rows.flatMap((lines) => [...lines.map(line), rule]),
    '',
  ].join('\n')
}

const gpu = (board: BoardReading) => String(board.header.gpuIndex).padStart(4)
const right = (value: number | string, width: number) => String(value).padStart(width)
const gibibytes = (mebibytes: number) => (Math.floor((100 * mebibytes) / 1024) / 100).toFixed(2)

/** Returns the output of `nvidia-smi mig -lgip`: the table of GPU instance profiles. */
export function gpuProfileTable(boards: readonly BoardReading[]): string {
  return table(
    ' GPU instance profiles:',
    [
      ' GPU   Name             ID    Instances   Memory     P2P    SM    DEC   ENC  ',
      '                              Free/Total   GiB              CE    JPEG  OFA  ',
    ],
    boards.flatMap((board) =>
      board.identity.migProfiles.map((profile) => {
        const instances = `${freeGpuPlacements(board, profile).length}/${profile.instanceCount}`
        const memory = gibibytes(profile.memoryMb)
        return [
          `${gpu(board)}  ${`MIG ${profile.name}`.padEnd(16)}${right(profile.id, 4)}${right(instances, 8)}` +
            `${right(memory, 12)}       No${right(profile.smCount, 7)}${right(profile.decoders, 6)}${right(0, 6)}   `,
          `${' '.repeat(55)}${right(profile.copyEngines, 6)}${right(profile.jpegs, 6)}${right(profile.ofas, 6)}   `,
        ]
      }),
    ),
  )
}

function placementWords(starts: readonly number[]): string {
  return `Placement${starts.length > 1 ? 's' : ' '}: {${starts.join(',')}}`
}

/** Returns the output of `nvidia-smi mig -lgipp`: one line per profile. */
export function gpuPlacementList(boards: readonly BoardReading[]): string {
  return boards
    .flatMap((board) =>
      board.identity.migProfiles.map(({ id, placements, memorySlices }) => {
        return `GPU ${right(board.header.gpuIndex, 2)} Profile ID ${right(id, 2)} ${placementWords(placements)}:${memorySlices}\n`
      }),
    )
    .join('')
}

/** Returns the output of `nvidia-smi mig -lgi`: the table of GPU instances. */
export function gpuInstanceTable(instances: readonly (readonly [BoardReading, GpuInstanceReading])[]): string {
  return table(
    ' GPU instances:                                        ',
    [
      ' GPU   Name             Profile  Instance   Placement  ',
      '                          ID       ID       Start:Size ',
    ],
    instances.map(([board, { state, profile }]) => [
      `${gpu(board)}  ${`MIG ${profile.name}`.padEnd(17)}${right(profile.id, 4)}${right(state.id, 9)}` +
        `${right(`${state.start}:${profile.memorySlices}`, 13)}`,
    ]),
  )
}

/** Returns the output of `nvidia-smi mig -lcip`: the table of compute instance profiles. */
export function computeProfileTable(instances: readonly (readonly [BoardReading, GpuInstanceReading])[]): string {
  return table(
    ' Compute instance profiles:',
    [
      ' GPU     GPU       Name             Profile  Instances   Exclusive       Shared       ',
      '       Instance                       ID     Free/Total     SM       DEC   ENC   OFA  ',
      '         ID                                                          CE    JPEG       ',
    ],
    instances.flatMap(([board, { state, profile }]) =>
      computeSizes(profile.sliceCount).map((slices) => {
        const whole = slices === profile.sliceCount
        const id = `${computeProfileIds[slices]}${whole ? '*' : ' '}`
        const total = computePlacements(profile.sliceCount, slices).length
        const free = freeComputePlacements(profile.sliceCount, slices, state.takenSlices).length
        return [
          `${gpu(board)}${right(state.id, 7)}       ${`MIG ${computeName(profile, slices)}`.padEnd(18)}${right(id, 4)}` +
            `${right(`${free}/${total}`, 10)}${right(computeSms(profile, slices), 12)}` +
            `${right(profile.decoders, 9)}${right(0, 6)}${right(profile.ofas, 6)}   `,
          `${' '.repeat(64)}${right(profile.copyEngines, 7)}${right(profile.jpegs, 6)}         `,
        ]
      }),
    ),
  )
}

/** Returns the output of `nvidia-smi mig -lcipp`: one line per profile of each GPU instance. */
export function computePlacementList(instances: readonly (readonly [BoardReading, GpuInstanceReading])[]): string {
  return instances
    .flatMap(([board, { state, profile }]) =>
      computeSizes(profile.sliceCount).map((slices) => {
        const starts = computePlacements(profile.sliceCount, slices)
        const id = computeProfileIds[slices]!
        return (
          `GPU ${right(board.header.gpuIndex, 2)} GI ${right(state.id, 2)} Profile ID ${right(id, 2)} ` +
          `${placementWords(starts)}:${slices}\n`
        )
      }),
    )
    .join('')
}

/** Returns the output of `nvidia-smi mig -lci`: the table of compute instances. */
export function computeInstanceTable(devices: readonly (readonly [BoardReading, MigDeviceReading])[]): string {
  return table(
    ' Compute instances:',
    [
      ' GPU     GPU       Name             Profile   Instance   Placement  ',
      '       Instance                       ID        ID       Start:Size ',
      '         ID                                                         ',
    ],
    devices.map(([board, { computeInstance, name }]) => {
      const profile = computeProfileIds[computeInstance.sliceCount]!
      const placement = `${computeInstance.start}:${computeInstance.sliceCount}`
      return [
        `${gpu(board)}${right(computeInstance.gpuInstanceId, 7)}       ${`MIG ${name}`.padEnd(18)}${right(profile, 4)}` +
          `${right(computeInstance.id, 11)}${right(placement, 13)}`,
      ]
    }),
  )
}

/** Lists one kind of entry of each board: pairs of a board and one of its entries. */
export function ofBoards<T>(
  boards: readonly BoardReading[],
  list: (board: BoardReading) => readonly T[],
): (readonly [BoardReading, T])[] {
  return boards.flatMap((board) => list(board).map((each) => [board, each] as const))
}
