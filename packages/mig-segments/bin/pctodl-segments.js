#!/usr/bin/env node
import '../dist/pctodl-segments.js'
