#!/usr/bin/env node
import '../dist/pctodld.js'
