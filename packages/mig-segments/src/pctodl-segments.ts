import { runCommand } from '@pctodl/command-line'
import { segments } from './commands.js'

runCommand('pctodl-segments', segments)
