#!/usr/bin/env node
import '../dist/pctodl-gpu.js'
