import { runCommand } from '@pctodl/command-line'
import { benchRunner } from './main.js'

runCommand('bench-runner', benchRunner)
