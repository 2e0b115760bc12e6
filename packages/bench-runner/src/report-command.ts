import type { CommandFunction } from '@pctodl/command-line'

export const report: CommandFunction = async () => 1
