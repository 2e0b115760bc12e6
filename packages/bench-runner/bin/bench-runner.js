#!/usr/bin/env node
import { runCommand } from '@pctodl/command-line'
import { benchRunner } from '../dist/commands.js'

runCommand('bench-runner', benchRunner)
