#!/usr/bin/env node
import '../dist/pctodl-import-upstream.js'
