import { mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import {
  endingAtOnce,
  integerFrom,
  numberBetween,
  positiveNumber,
  type Terminal,
  writeFileAtomically,
} from '@pctodl/command-line'
import type { Command } from 'commander'
import { type DaySchedule, type DayTotals, planDay } from '../day/plan-day.js'
import { fleetOf } from '../fleet/fleet.js'
import { formatDeploymentMap, gpusOf } from '../map/deployment-map.js'
import type { MappedBoard } from '../map/fleet-map.js'
import { stepFleetMaps } from '../replan/fleet-migration.js'
import { addInputOptions, type InputOptions, loadRows, maxBoards } from './plan-options.js'
import { report, stepName, tableOf } from './plan-report.js'
import { addGateOptions, type GateOptions, trafficOf } from './traffic-options.js'

interface ScheduleCommandOptions extends InputOptions, GateOptions {
  readonly period: number
  readonly migrationTime: number
  readonly idlePower: number
  readonly parkedPower: number
  readonly maxLate: number
  readonly maxIterations: number
}

/** Solver iterations per period: fewer than for a single plan, because a schedule solves many programs. */
const DAY_ITERATIONS = 5000

export function addScheduleOptions(command: Command): Command {
  return addGateOptions(addInputOptions(command))
    .requiredOption('--idle-power <w>', 'idle power of a GPU with instances', positiveNumber())
    .requiredOption('--parked-power <w>', 'power of a GPU without instances; 0: switched off', numberBetween(0, 10_000))
    .option('--period <s>', 'duration of a row of the objective files', positiveNumber(), 3600)
    .option('--migration-time <s>', 'seconds until a new segment serves', numberBetween(0, 86_400), 60)
    .option('--max-late <share>', "share of the day's requests that changes may make late", numberBetween(0, 0.1), 0)
    .option('--max-iterations <n>', 'simplex iterations of each change', integerFrom(1), DAY_ITERATIONS)
}

export async function schedule(options: ScheduleCommandOptions, terminal: Terminal): Promise<number> {
  const { board, profiles, rows } = loadRows(options, terminal)
  const { latencyShare, maxIterations, maxLate, gpusPerNode, gate } = options
  const traffic = trafficOf(options)
  const group = { idleW: options.idlePower, boardsPerNode: gpusPerNode, ...maxBoards(options) }
  const day = await endingAtOnce(() =>
    planDay(fleetOf(board.key, profiles, group), rows, {
      ...{ periodS: options.period, migrationS: options.migrationTime, parkedW: options.parkedPower },
      ...{ latencyShare, maxIterations, maxLate, gate, ...traffic },
    }),
  )
  const folders = writeMaps(day, path.join(options.output, 'schedule'), gpusPerNode)
  const files = new Map(folders.map((folder) => [folder, null]))
  report(day, `${periodTable(day, terminal)}\n\n${summary(day)}`, files, options.json, terminal)
  return 0
}

/** Writes one folder per period, with a map for each step that leads to it; the first has only its map. */
function writeMaps({ periods }: DaySchedule, folder: string, gpusPerNode: number): string[] {
  rmSync(folder, { recursive: true, force: true })
  let before: readonly MappedBoard[] = []
  return periods.map(({ boards, steps }, h) => {
    const into = path.join(folder, `period-${String(h + 1).padStart(2, '0')}`)
    mkdirSync(into, { recursive: true })
    const maps = h === 0 ? [boards] : stepFleetMaps(before, steps)
    maps.forEach((map, step) => {
      const text = formatDeploymentMap(gpusOf(map, gpusPerNode), gpusPerNode)
      writeFileAtomically(path.join(into, stepName(step)), text)
    })
    before = boards
    return into
  })
}

function periodTable({ periods }: DaySchedule, terminal: Terminal): string {
  const table = tableOf(['period', 'GPUs', 'segments', 'created', 'removed', 'late at most', 'kWh'], terminal)
  periods.forEach(({ boards, steps, lateRequests, energyJ }, h) => {
    const count = (wanted: string) => steps.filter(({ kind }) => kind === wanted).length
    const segments = boards.reduce((sum, each) => sum + each.segments.length, 0)
    const change = [count('create'), count('remove'), Math.ceil(lateRequests)]
    table.push([h + 1, boards.length, segments, ...change, kWh(energyJ)])
  })
  return table.toString()
}

function summary(day: DaySchedule): string {
  const line = (name: string, { energyJ, created, lateRequests, maxBoards }: DayTotals) =>
    `${name}: ${kWh(energyJ)} kWh, ${maxBoards} GPUs at most, ${created} segments created, ` +
    `${((100 * lateRequests) / Math.max(1, day.requests)).toPrecision(2)} % of requests late by it`
  const saved = 1 - day.energyJ / day.staticPlan.energyJ
  const gap = day.lowerBoundJ > 0 ? `; no schedule takes less than ${kWh(day.lowerBoundJ)} kWh` : ''
  return [
    `${line('schedule', day)} (${(100 * saved).toFixed(1)} % less than one plan for all${gap})`,
    line('one plan for all', day.staticPlan),
    ...day.blocked.map(
      (h) => `period ${h + 1}: no change keeps within --max-late, so the one plan for all stands there`,
    ),
  ].join('\n')
}

function kWh(joules: number): string {
  return (joules / 3.6e6).toPrecision(4)
}
