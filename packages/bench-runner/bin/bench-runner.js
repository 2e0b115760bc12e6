#!/usr/bin/env node
import '../dist/bench-runner.js'
