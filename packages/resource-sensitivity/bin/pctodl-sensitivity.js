#!/usr/bin/env node
import '../dist/pctodl-sensitivity.js'
