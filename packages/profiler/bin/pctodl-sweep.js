#!/usr/bin/env node
import '../dist/pctodl-sweep.js'
