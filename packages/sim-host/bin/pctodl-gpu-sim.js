#!/usr/bin/env node
import '../dist/pctodl-gpu-sim.js'
