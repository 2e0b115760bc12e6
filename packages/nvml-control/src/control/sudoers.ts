import { InvalidInputError } from '@pctodl/platform'
import type { BoardFacts } from '../describe/board-facts.js'
import { defaultLeaseFolder } from '../lease/lease-folder.js'
import { settableComputeModes } from '../nvml/compute-mode.js'
import type { BoardChange } from './board-change.js'
import { smiArguments } from './smi-arguments.js'

export interface SudoersOptions {
  /** Who gets the permission: a user, or `%group`. */
  readonly grantee: string
  /** Absolute path of nvidia-smi. */
  readonly smiPath: string
  /**
   * `enumerated` lists every single command and works with any sudo; `regex` is short, allows ranges of clocks and needs
   * sudo 1.9.10.
   */
  readonly style: 'enumerated' | 'regex'
  readonly boards: readonly BoardFacts[]
}

/**
 * A sudoers drop-in for exactly the commands that this package runs, on exactly these boards, without arguments of the
 * user's choice: sudoers' own wildcards match blanks too, so none is used.
 */
export function sudoersDropIn({ grantee, smiPath, style, boards }: SudoersOptions): string {
  if (!/^%?[a-z_][\w-]*$/i.test(grantee)) throw new InvalidInputError('user or group', grantee, 'a name, or %group')
  if (!/^\/[\w./+-]+$/.test(smiPath)) throw new InvalidInputError('smiPath', smiPath, 'an absolute path without blanks')
  const commands = boards.flatMap((board) => (style === 'regex' ? patterns(board) : enumeration(board)))
  const unique = [...new Set(commands)].map((words) => `    ${smiPath} ${words}`)
  const group = grantee.startsWith('%') ? grantee.slice(1) : grantee
  return [
    '# Lets pctodl change these boards through `sudo -n`, which asks for nothing; it allows nothing else.',
    '# Check it, then install it:',
    '#   pctodl-gpu sudoers ... > pctodl && visudo -cf pctodl && sudo install -m 0440 pctodl /etc/sudoers.d/pctodl',
    '# Leases are kept in a folder that its users share:',
    `#   sudo install -d -m 2770 -g ${group} ${defaultLeaseFolder}`,
    ...boards.map((board) => `# GPU ${board.index}: ${board.name}, ${board.uuid}`),
    `Cmnd_Alias PCTODL_GPU = \\\n${unique.join(', \\\n')}`,
    `${grantee} ALL = (root) NOPASSWD: PCTODL_GPU`,
    '',
  ].join('\n')
}

function enumeration(board: BoardFacts): string[] {
  const { uuid, clockStates, powerLimitW } = board
  const smClocks = new Set(clockStates.flatMap((state) => state.smClocksMhz))
  const changes: BoardChange[] = [
    ...fixedChanges,
    ...[...smClocks].map((mhz) => ({ kind: 'sm-clock', range: { minMhz: mhz, maxMhz: mhz } }) as const),
    ...clockStates.map(({ memClockMhz: mhz }) => ({ kind: 'mem-clock', range: { minMhz: mhz, maxMhz: mhz } }) as const),
  ]
  if (powerLimitW) {
    const { minW, maxW, defaultW } = powerLimitW
    const limits = new Set([minW, defaultW, maxW])
    for (let watts = Math.ceil(minW); watts <= maxW; watts++) limits.add(watts)
    changes.push(...[...limits].map((watts) => ({ kind: 'power-limit', powerLimitW: watts }) as const))
  }
  // A comma separates commands in sudoers and must be escaped inside one.
  return changes.map((change) => smiArguments(uuid, change).join(' ').replaceAll(',', '\\,'))
}

/** In a regular expression sudoers needs no escapes of its own. */
function patterns({ uuid }: BoardFacts): string[] {
  const fixed = fixedChanges.map((change) => smiArguments(uuid, change).join(' '))
  return [
    ...fixed,
    `^-i ${uuid} -pl [0-9]+(\\.[0-9]{2})?$`,
    `^-i ${uuid} -lgc [0-9]+,[0-9]+$`,
    `^-i ${uuid} -lmc [0-9]+,[0-9]+$`,
  ]
}

const fixedChanges: readonly BoardChange[] = [
  { kind: 'sm-clock', range: null },
  { kind: 'mem-clock', range: null },
  ...settableComputeModes.map((mode) => ({ kind: 'compute-mode', mode }) as const),
  { kind: 'persistence', enabled: false },
  { kind: 'persistence', enabled: true },
]
