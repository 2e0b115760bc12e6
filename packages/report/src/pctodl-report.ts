import { runCommand } from '@pctodl/command-line'
import { pctodlReport } from './report-logs.js'

runCommand('pctodl-report', pctodlReport)
