import type { Command } from 'commander'

/** Options shared by the commands that write a report. */
export interface RawReportOptions {
  readonly pictures?: boolean
  readonly paper?: string
  readonly json?: boolean
}

export function addReportOptions(command: Command): Command {
  return command
    .option('--pictures', 'draw every chart as SVG and PNG too')
    .option('--paper <folder>', 'figures of 8.5 and 17.5 cm (SVG, PDF) and tables (LaTeX, CSV) for a paper, too')
    .option('--json', 'print the list of files as JSON')
}

/**
 * Output of a command that writes a report: the paths of its files. Without `--json`, only the first three are listed.
 */
export function writtenFiles(files: readonly string[], folder: string, json: boolean): string {
  if (json) return `${JSON.stringify({ files }, null, 2)}\n`
  return `${files.slice(0, 3).join('\n')}\n${files.length > 3 ? `and ${files.length - 3} more in ${folder}\n` : ''}`
}
