#!/usr/bin/env node
import '../dist/pctodl-mps.js'
