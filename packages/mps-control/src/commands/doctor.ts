import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Terminal } from '@pctodl/command-line'
import { privateFolder } from '@pctodl/command-line'
import { commandLineOf, loadNvml, reasonOf } from '@pctodl/nvml-control'
import { ControlProgram } from '../control-program.js'
import { daemonOf, type PlaceOptions, printJson } from './mps-options.js'

export interface Finding {
  readonly check: string
  readonly verdict: 'ok' | 'note' | 'bad'
  readonly detail: string
}

/**
 * Checks everything that can prevent processes from becoming MPS clients. Changes nothing.
 *
 * @returns exit code: 1 if there is a problem
 */
export async function doctor(options: PlaceOptions, terminal: Terminal): Promise<number> {
  const findings = await examine(options)
  if (options.json) printJson(terminal, findings)
  else {
    const marks = { ok: 'ok  ', note: 'note', bad: 'BAD ' } as const
    for (const { check, verdict, detail } of findings) terminal.stdout.write(`${marks[verdict]}  ${check}: ${detail}\n`)
  }
  return findings.some(({ verdict }) => verdict === 'bad') ? 1 : 0
}

export async function examine(options: PlaceOptions): Promise<Finding[]> {
  const mps = daemonOf(options)
  const { place } = mps
  const findings: Finding[] = []
  const add = (check: string, verdict: Finding['verdict'], detail: string) => findings.push({ check, verdict, detail })

  const { program } = options
  const version = await new ControlProgram(place, program === undefined ? {} : { program })
    .version()
    .catch((error: Error) => error)
  add('program', version instanceof Error ? 'bad' : 'ok', version instanceof Error ? version.message : version)

  for (const folder of [place.pipeDirectory, place.logDirectory]) add('folder', ...folderFinding(folder))
  if (findings.some(({ check, verdict }) => check === 'folder' && verdict === 'bad')) {
    for (const finding of boardFindings(false)) findings.push(finding)
    return findings
  }
  const pid = place.pidInFile()
  if (pid !== null && place.daemon() === null) {
    const other = commandLineOf(pid)
    const what = other === null ? 'which has ended' : 'which is another program by now'
    add('pid file', 'note', `it names process ${pid}, ${what}; \`pctodl mps start\` removes it`)
  }

  const status = await mps.status().catch((error: Error) => error)
  if (status instanceof Error) add('daemon', 'bad', status.message)
  else if (status.state === 'stopped') add('daemon', 'note', `none runs at ${place.pipeDirectory}`)
  else {
    const who = status.isOurs ? 'started by pctodl' : 'started by somebody else'
    const detail = status.reason ?? `process ${status.daemon?.pid ?? '(not visible from here)'}, ${who}`
    add('daemon', status.state === 'fault' ? 'bad' : 'ok', detail)
    for (const server of status.servers) {
      const text = `process ${server.pid}: ${server.status}, ${server.clients.length} clients, ${server.activeThreadPercentage ?? '?'} %`
      add('server', server.status === 'FAULT' ? 'bad' : 'ok', text)
    }
  }
  for (const finding of boardFindings(status instanceof Error ? false : status.state !== 'stopped'))
    findings.push(finding)
  for (const line of logComplaints(place.logDirectory)) add('log', 'note', line)
  return findings
}

function folderFinding(folder: string): [Finding['verdict'], string] {
  if (!existsSync(folder)) return ['note', `${folder} does not exist yet`]
  try {
    privateFolder(folder, 0o755)
    return ['ok', folder]
  } catch (error) {
    return ['bad', `${reasonOf(error)}; use another --directory`]
  }
}

/** Findings about compute modes and about processes that bypass MPS. Empty if there is no NVML. */
function boardFindings(isRunning: boolean): Finding[] {
  try {
    return loadNvml()
      .devices()
      .flatMap((device) => {
        const check = `GPU ${device.index}`
        const mode = device.computeMode()
        const outside = device.computeProcesses().filter((process) => process.isMpsClient === false)
        const isOpen = isRunning && mode !== 'exclusive-process'
        return [
          {
            check,
            verdict: isOpen ? ('note' as const) : ('ok' as const),
            detail: `compute mode ${mode}${isOpen ? ': a process without the MPS environment silently runs beside MPS' : ''}`,
          },
          ...(isRunning ? outside : []).map((process) => ({
            check,
            verdict: 'bad' as const,
            detail: `process ${process.pid} (${commandLineOf(process.pid)?.slice(0, 60) ?? '?'}) runs outside MPS`,
          })),
        ]
      })
  } catch (error) {
    return [{ check: 'NVML', verdict: 'note', detail: reasonOf(error) }]
  }
}

/** Returns the latest error messages of the daemon's logs. */
function logComplaints(folder: string): string[] {
  return ['control.log', 'server.log'].flatMap((name) => {
    try {
      const lines = readFileSync(path.join(folder, name), 'utf8').trim().split('\n')
      return lines
        .filter((line) => /error|fail|fault/i.test(line))
        .slice(-3)
        .map((line) => `${name}: ${line}`)
    } catch {
      return []
    }
  })
}
