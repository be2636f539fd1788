#!/usr/bin/env node
/** Entry point: prints the answer of a resident reader, or runs `program.ts` with the arguments of the process. */
import * as nodeModule from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { askResident } from './ask-resident.js'

// V8 would optimize the functions of the database engine during its start, which takes twice the time of a short
// command. It optimizes what a long command uses. The unit is about one byte of executed code.
setFlagsFromString('--wasm-tiering-budget=150000000')

// Node 22.8 and later keep the compiled code of all files that are loaded from here on; earlier ones compile again.
if ('enableCompileCache' in nodeModule && typeof nodeModule.enableCompileCache === 'function')
  nodeModule.enableCompileCache()

const words = process.argv.slice(2)
const answer = await askResident(words)
const { runProgram } = await import('./program.js')
const status = await runProgram(words, answer)
// Without it, Node.js would finish compilations of the database engine that no one needs.
process.exit(status)
