#!/usr/bin/env node
import '../dist/pctodl-add-network.js'
