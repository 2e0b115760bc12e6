#!/usr/bin/env node
import '../dist/pctodl-predict.js'
