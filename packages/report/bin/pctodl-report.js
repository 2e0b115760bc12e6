#!/usr/bin/env node
import '../dist/pctodl-report.js'
