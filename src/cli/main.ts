#!/usr/bin/env node
/** Entry point: runs `program.ts` with the arguments of the process. */
import * as nodeModule from 'node:module'

// Node 22.8 and later keep the compiled code of all files that are loaded from here on; earlier ones compile again.
if ('enableCompileCache' in nodeModule && typeof nodeModule.enableCompileCache === 'function')
  nodeModule.enableCompileCache()
const { runProgram } = await import('./program.js')

process.exitCode = await runProgram(process.argv.slice(2))
