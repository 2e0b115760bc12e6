#!/usr/bin/env node
import '../dist/pctodl-fit.js'
