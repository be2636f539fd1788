#!/usr/bin/env node
/** Entry point: prints the answer of a resident reader, or runs `program.ts` with the arguments of the process. */
import * as nodeModule from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { askResident } from './ask-resident.js'

// V8 would compile the database engine a second time, optimized. This takes half the time of a short command, and an
// import of 20,000 messages is faster without it. Processes that serve for days do without it too: most of their time
// is spent in JavaScript, which stays optimized.
setFlagsFromString('--no-wasm-tier-up')
setFlagsFromString('--no-wasm-dynamic-tiering')

// Node 22.8 and later keep the compiled code of all files that are loaded from here on; earlier ones compile again.
if ('enableCompileCache' in nodeModule && typeof nodeModule.enableCompileCache === 'function')
  nodeModule.enableCompileCache()

const words = process.argv.slice(2)
const answer = await askResident(words)
const { runProgram } = await import('./program.js')
const status = await runProgram(words, answer)
// Without it, Node.js would finish compilations of the database engine that no one needs.
process.exit(status)
