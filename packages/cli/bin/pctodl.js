#!/usr/bin/env node
import '../dist/pctodl.js'
