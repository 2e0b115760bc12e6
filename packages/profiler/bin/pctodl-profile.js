#!/usr/bin/env node
import '../dist/pctodl-profile.js'
