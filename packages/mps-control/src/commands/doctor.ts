import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { given, privateFolder, type Terminal } from '@pctodl/command-line'
import { commandLineOf, loadNvml, reasonOf } from '@pctodl/nvml-control'
import { ControlProgram } from '../control-program.js'
import { daemonOf, type PlaceOptions, printJson } from './mps-options.js'

export interface Finding {
  readonly check: string
  readonly verdict: 'ok' | 'note' | 'bad'
  readonly detail: string
}

/** Checks everything that can prevent processes from becoming MPS clients. Changes nothing. */
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

  const program = new ControlProgram(place, given({ program: options.program }))
  await program.version().then(
    (version) => add('program', 'ok', version),
    (error: Error) => add('program', 'bad', error.message),
  )
  for (const folder of [place.pipeDirectory, place.logDirectory]) findings.push(folderFinding(folder))
  const isUnusable = findings.some(({ check, verdict }) => check === 'folder' && verdict === 'bad')
  if (isUnusable) return [...findings, ...boardFindings(false)]
  const pid = place.pidInFile()
  if (pid !== null && place.daemon() === null) {
    const what = commandLineOf(pid) === null ? 'which has ended' : 'which is another program by now'
    add('pid file', 'note', `it names process ${pid}, ${what}; \`pctodl mps start\` removes it`)
  }

  const status = await mps.status().catch((error: Error) => error)
  const isRunning = !(status instanceof Error) && status.state !== 'stopped'
  if (status instanceof Error) add('daemon', 'bad', status.message)
  else if (!isRunning) add('daemon', 'note', `none runs at ${place.pipeDirectory}`)
  else {
    const who = status.isOurs ? 'started by pctodl' : 'started by somebody else'
    const detail = status.reason ?? `process ${status.daemon?.pid ?? '(not visible from here)'}, ${who}`
    add('daemon', status.state === 'fault' ? 'bad' : 'ok', detail)
    for (const { pid, status: state, clients, activeThreadPercentage } of status.servers) {
      const text = `process ${pid}: ${state}, ${clients.length} clients, ${activeThreadPercentage ?? '?'} %`
      add('server', state === 'FAULT' ? 'bad' : 'ok', text)
    }
  }
  findings.push(...boardFindings(isRunning))
  for (const line of logComplaints(place.logDirectory)) add('log', 'note', line)
  return findings
}

function folderFinding(folder: string): Finding {
  const check = 'folder'
  if (!existsSync(folder)) return { check, verdict: 'note', detail: `${folder} does not exist yet` }
  try {
    privateFolder(folder, 0o755)
    return { check, verdict: 'ok', detail: folder }
  } catch (error) {
    return { check, verdict: 'bad', detail: `${reasonOf(error)}; use another --directory` }
  }
}

/** Findings about compute modes and about processes that bypass MPS. */
function boardFindings(isRunning: boolean): Finding[] {
  const findings: Finding[] = []
  try {
    for (const device of loadNvml().devices()) {
      const check = `GPU ${device.index}`
      const mode = device.computeMode()
      const isOpen = isRunning && mode !== 'exclusive-process'
      const warning = isOpen ? ': a process without the MPS environment silently runs beside MPS' : ''
      findings.push({ check, verdict: isOpen ? 'note' : 'ok', detail: `compute mode ${mode}${warning}` })
      for (const { pid, isMpsClient } of isRunning ? device.computeProcesses() : []) {
        const detail = `process ${pid} (${commandLineOf(pid)?.slice(0, 60) ?? '?'}) runs outside MPS`
        if (isMpsClient === false) findings.push({ check, verdict: 'bad', detail })
      }
    }
    return findings
  } catch (error) {
    return [{ check: 'NVML', verdict: 'note', detail: reasonOf(error) }]
  }
}

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
