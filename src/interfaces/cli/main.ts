#!/usr/bin/env node
/** Entry point: prints the answer of a resident reader, or runs `program.ts` with the arguments of the process. */
import * as nodeModule from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { askResident } from './ask-resident.js'

// V8 would compile the database engine a second time, optimized. This takes a quarter of the processor time of a short
// command. Without it, an import of 20,000 messages takes 10 % less; in a process that serves for long, appends take 11 to
// 23 % less and reads 11 % more.
setFlagsFromString('--no-wasm-tier-up')
setFlagsFromString('--no-wasm-dynamic-tiering')
// V8 would compile each regular expression twice. The rules of `forgotten` are many, and most are used often.
setFlagsFromString('--no-regexp-tier-up')

// Node 22.8 and later keep the compiled code of all files that are loaded from here on; earlier ones compile again.
if ('enableCompileCache' in nodeModule && typeof nodeModule.enableCompileCache === 'function')
  nodeModule.enableCompileCache()

const words = process.argv.slice(2)
const answer = await askResident(words)

/** Node.js loads modules in parallel, and the system can refuse to open more files. */
function refuseTooFewFiles(error: unknown): number {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'EMFILE') throw error
  process.stderr.write(
    'error: this process may have too few files open at a time: raise the limit (`ulimit -n 1024`)\n',
  )
  return 3
}

const status = await import('./program.js').then(({ runProgram }) => runProgram(words, answer)).catch(refuseTooFewFiles)
// Without it, Node.js would finish compilations of the database engine that no one needs.
process.exit(status)
