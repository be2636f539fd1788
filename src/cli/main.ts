#!/usr/bin/env node
/** Entry point: runs `program.ts` with the arguments of the process. */
import { runProgram } from './program.js'

process.exitCode = await runProgram(process.argv.slice(2))
