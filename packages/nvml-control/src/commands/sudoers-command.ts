import { accessSync, constants } from 'node:fs'
import path from 'node:path'
import { asUsage, type Terminal, UsageError } from '@pctodl/command-line'
import { sudoersDropIn } from '../control/sudoers.js'
import { boardFacts } from '../describe/board-facts.js'
import { loadNvml } from '../nvml/nvml-library.js'
import { type BoardOptions, printJson, selectDevices } from './open-boards.js'

export interface SudoersCommandOptions extends BoardOptions {
  readonly for: string
  readonly smi?: string
  readonly style: 'enumerated' | 'regex'
}

/** Print a sudoers drop-in for the second path. Installs nothing. */
export async function sudoersCommand(options: SudoersCommandOptions, terminal: Terminal): Promise<number> {
  const nvml = loadNvml(options.library === undefined ? {} : { libraryPath: options.library })
  const smiPath = options.smi ?? onPath('nvidia-smi', terminal.env['PATH'] ?? '')
  const boards = selectDevices(nvml, options).map(boardFacts)
  const text = asUsage(() => sudoersDropIn({ grantee: options.for, smiPath, style: options.style, boards }))
  if (options.json) printJson(terminal, { grantee: options.for, smiPath, style: options.style, sudoers: text })
  else terminal.stdout.write(text)
  return 0
}

function onPath(program: string, folders: string): string {
  for (const folder of folders.split(':')) {
    const file = path.resolve(folder, program)
    try {
      accessSync(file, constants.X_OK)
      return file
    } catch {
      // Not in this folder.
    }
  }
  throw new UsageError(`${program} is not on PATH; name it with --smi <absolute path>`)
}
