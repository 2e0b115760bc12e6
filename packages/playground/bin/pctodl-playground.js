#!/usr/bin/env node
import '../dist/pctodl-playground.js'
