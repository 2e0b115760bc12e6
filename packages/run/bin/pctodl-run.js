#!/usr/bin/env node
import '../dist/pctodl-run.js'
