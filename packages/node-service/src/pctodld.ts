import { runCommand } from '@pctodl/command-line'
import { node } from './commands.js'

runCommand('pctodld', node)
