#!/usr/bin/env node
import '../dist/pctodl-partition.js'
