#!/usr/bin/env node
import '../dist/pctodl-export-onnx.js'
