#!/usr/bin/env node
/** The command line as a process: `program.ts` with this process's words, and its status. */
import { runProgram } from './program.js'

process.exitCode = await runProgram(process.argv.slice(2))
