import { runCommand } from '@pctodl/command-line'
import { mps } from './commands.js'

runCommand('pctodl-mps', mps)
