import { runCommand } from '@pctodl/command-line'
import { predict } from './commands.js'

runCommand('pctodl-predict', predict)
