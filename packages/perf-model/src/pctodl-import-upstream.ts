import { runCommand } from '@pctodl/command-line'
import { importUpstream } from './commands.js'

runCommand('pctodl-import-upstream', importUpstream)
