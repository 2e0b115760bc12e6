#!/usr/bin/env node
import '../dist/pctodl-colocate.js'
