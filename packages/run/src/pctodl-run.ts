import { runCommand } from '@pctodl/command-line'
import { pctodlRun } from './run-command.js'

runCommand('pctodl-run', pctodlRun)
