import { type CommandFunction, newCommand, parseCommand, withNvmlOptions } from '@pctodl/command-line'
import { version } from '../../package.json'
import { rewordedText } from '../speaking-as-pctodl.js'
import { type ExamineOptions, examineMachine } from './examine-machine.js'
import type { Finding } from './finding.js'

/** Names of the checks on which every command depends. A failure of another check matters only for some commands. */
const essential: readonly string[] = ['simulated board', 'predictor']

/**
 * The command `pctodl doctor`.
 *
 * @returns 1 if an essential check fails, else 0
 */
export const doctor: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'pctodl doctor',
      version,
      description: 'Report what works on this machine, and how to fix the rest. Changes nothing.',
      example: 'pctodl doctor --json',
    },
    terminal,
  )
  withNvmlOptions(command).option('--json', 'print JSON')
  await parseCommand(command, argv)
  const { json, ...options } = command.opts<ExamineOptions & { readonly json?: boolean }>()
  const examined = await examineMachine(options, terminal.signal)
  const findings = examined.map(inOurWords)
  terminal.signal.throwIfAborted()
  const works = findings.every(({ check, verdict }) => verdict === 'ok' || !essential.includes(check))
  terminal.stdout.write(
    json
      ? `${JSON.stringify({ works, findings }, null, 2)}\n`
      : `${findings.map(textOf).join('')}\n${summary(findings, works)}\n`,
  )
  return works ? 0 : 1
}

/** Messages of other packages name their binaries; here, `pctodl`'s commands replace these names. */
function inOurWords(finding: Finding): Finding {
  const { detail, advice } = finding
  return { ...finding, detail: rewordedText(detail), advice: advice === null ? null : rewordedText(advice) }
}

const marks = { ok: 'ok    ', absent: '-     ', broken: 'BROKEN' } as const
const INDENT = ' '.repeat(24)

function textOf({ check, verdict, detail, advice }: Finding): string {
  const line = `${marks[verdict]} ${check.padEnd(15)}  ${detail}\n`
  return advice === null ? line : `${line}${wrapped(`-> ${advice}`)}`
}

/** Wraps advice to lines of about a hundred characters, indented below the finding. */
function wrapped(text: string): string {
  const lines = text.match(/.{1,76}(?:\s|$)/g) ?? [text]
  return lines.map((line, i) => `${INDENT}${i === 0 ? '' : '   '}${line.trimEnd()}\n`).join('')
}

function summary(findings: readonly Finding[], works: boolean): string {
  if (!works) return 'Not even a simulated board works here: see above.'
  const isOk = (check: string) => findings.some((finding) => finding.check === check && finding.verdict === 'ok')
  const usable = [
    'simulated boards',
    ...(isOk('C compiler') ? ['simulated hosts'] : []),
    ...(isOk('GPU 0') ? [isOk('permission') && isOk('leases') ? 'real boards' : 'reading real boards'] : []),
  ]
  const broke = findings.filter(({ verdict }) => verdict === 'broken').map(({ check }) => check)
  return `Works here: ${usable.join(', ')}.${broke.length > 0 ? ` To be mended: ${broke.join(', ')}.` : ''}`
}
