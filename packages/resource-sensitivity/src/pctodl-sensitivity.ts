import { runCommand } from '@pctodl/command-line'
import { sensitivity } from './cli/sensitivity-command.js'

void runCommand('pctodl-sensitivity', sensitivity)
