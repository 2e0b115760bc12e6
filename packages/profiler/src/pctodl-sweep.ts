import { runCommand } from '@pctodl/command-line'
import { pctodlSweep } from './sweep/sweep-command.js'

runCommand('pctodl-sweep', pctodlSweep)
