#!/usr/bin/env node
import '../dist/pctodl-hetero.js'
