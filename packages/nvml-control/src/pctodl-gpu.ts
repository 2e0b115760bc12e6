import { runCommand } from '@pctodl/command-line'
import { gpu } from './commands.js'

runCommand('pctodl-gpu', gpu)
