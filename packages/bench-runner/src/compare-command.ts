import type { CommandFunction } from '@pctodl/command-line'

export const compare: CommandFunction = async () => 1
