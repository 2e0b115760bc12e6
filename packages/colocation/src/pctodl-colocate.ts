import { runCommand } from '@pctodl/command-line'
import { pctodlColocate } from './cli/colocate-command.js'

runCommand('pctodl-colocate', pctodlColocate)
