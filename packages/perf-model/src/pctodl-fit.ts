import { runCommand } from '@pctodl/command-line'
import { fit } from './commands.js'

runCommand('pctodl-fit', fit)
